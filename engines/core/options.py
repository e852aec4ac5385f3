"""Options of an engine: text in, values out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plyd.engines.core.errors import BadOption, quoted

OptionValue = int | float | bool | str
MAX_TEXT = 64  # maximum length of a value
MEMORY = "memory"  # name of the option for a searcher's memory in megabytes
THREADS = "threads"  # name of the option for the threads of a search


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Its default sets its type; numbers have a range, strings a list of choices."""

    name: str
    summary: str
    default: OptionValue
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other names that are accepted but not listed."""

    def __post_init__(self) -> None:
        is_number = not isinstance(self.default, bool | str)
        assert is_number == (self.minimum is not None) == (self.maximum is not None), "numbers have a range"
        assert isinstance(self.default, str) == bool(self.choices), "words have choices"

    def read(self, text: str) -> OptionValue:
        """The value of an option's text; raises BadOption if it is not allowed."""
        value = self._convert(text) if len(text) <= MAX_TEXT else None
        if value is None or not self._allows(value):
            raise BadOption(f"option {self.name} is {quoted(text)}; allowed is {self._allowed()}")
        return value

    def _convert(self, text: str) -> OptionValue | None:
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text)
        if isinstance(self.default, str):
            return text
        if not re.fullmatch(r"[-+.0-9eE]+", text):  # float() would accept 1_000 and nan
            return None
        try:
            return type(self.default)(text)
        except ValueError:
            return None

    def _allows(self, value: OptionValue) -> bool:
        if isinstance(value, bool):
            return True
        if isinstance(value, str):
            return value in self.choices
        return (self.minimum is None or self.minimum <= value) and (self.maximum is None or value <= self.maximum)

    def _allowed(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return " or ".join(self.choices)
        if isinstance(self.default, int):
            return f"a whole number from {self.minimum} to {self.maximum}"
        return f"a number from {self.minimum:g} to {self.maximum:g}"


def read_options(options: Sequence[Option], texts: Mapping[str, str]) -> dict[str, OptionValue]:
    """The value of every option: from the texts, else its default."""
    known = {name: option for option in options for name in (option.name, *option.aliases)}
    values = {option.name: option.default for option in options}
    given: dict[str, str] = {}  # the name used to set each option
    for name, text in texts.items():
        if name not in known:
            raise BadOption(f"unknown option {quoted(name)}; options are {', '.join(values) or 'none'}")
        option = known[name]
        earlier = given.setdefault(option.name, name)
        if texts[earlier] != text:
            raise BadOption(
                f"options {earlier} and {name} mean the same, but are {quoted(texts[earlier])} and {quoted(text)}"
            )
        values[option.name] = option.read(text)
    return values


def memory_option(default: int, minimum: int, maximum: int) -> Option:
    """The option for a searcher's memory in megabytes."""
    return Option(MEMORY, "Megabytes that a search may use.", default=default, minimum=minimum, maximum=maximum)


def threads_option() -> Option:
    """The option for the threads of a search."""
    return Option(
        THREADS,
        "Maximum threads of a search. 0: all cores that no other search needs, or one thread if there is a node limit, "
        "so that the result is reproducible.",
        default=0,
        minimum=0,
        maximum=64,
    )


def granted_megabytes(options: Mapping[str, OptionValue], megabytes: int | None) -> int:
    """The megabytes granted to a searcher; without a grant, the value of its option `memory`."""
    return int(options[MEMORY]) if megabytes is None else megabytes
