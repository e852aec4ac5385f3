"""The literals of a JavaScript file, found without a parser."""

import re

TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[`{}/]""", re.DOTALL)
REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n])+/\w*")
CHUNK = re.compile(r"((?:\\.|(?!\$\{)[^`\\])*)(`|\$\{)", re.DOTALL)
BEFORE_REGEX = re.compile(r"(^|[(,=:\[!&|?{};+>]|return)\s*$")
CONTEXT = 80  # characters before a literal


def literals(script):
    """(what stands before it, the text) of each string, and of each piece of a template between its values."""
    found, at = [], 0
    depths = []  # of the braces open in each template's value that is open
    while token := TOKENS.search(script, at):
        text, at = token[0], token.end()
        before = script[max(0, token.start() - CONTEXT) : token.start()]
        if text[0] in "\"'":
            found.append((before, text[1:-1]))
        elif text == "/" and BEFORE_REGEX.search(before) and (regex := REGEX.match(script, token.start())):
            at = regex.end()
        elif text == "{" and depths:
            depths[-1] += 1
        elif text == "}" and depths and depths[-1]:
            depths[-1] -= 1
        elif text == "`" or (text == "}" and depths):
            if text == "}":
                depths.pop()
            chunk = CHUNK.match(script, at)
            found.append((before if text == "`" else "", chunk[1]))
            at = chunk.end()
            if chunk[2] == "${":
                depths.append(0)
    return found
