"""One side of a match from its KEY=VALUE text."""

import re

import pytest

from plyd.clients.match.side import BadMatch, SideLimits, parse_side


@pytest.mark.parametrize(
    ("text", "limits", "options", "at", "name"),
    [
        ("", "100 ms a move", {}, "", "first"),
        ("seed=3", "100 ms a move", {"seed": "3"}, "", "first"),
        ("time=0.2", "200 ms a move", {}, "", "first"),
        ("nodes=1000 depth=4", "1000 nodes, depth 4", {}, "", "first"),
        ("clock=60+0.5", "clock 60+0.5", {}, "", "first"),
        ("clock=5 name=fast", "clock 5+0", {}, "", "fast"),
        ("name='my own' at='unix:/tmp/a b'", "100 ms a move", {}, "unix:/tmp/a b", "my own"),
        ("at=localhost:1 c=a=b", "100 ms a move", {"c": "a=b"}, "localhost:1", "first"),
    ],
)
def test_words_describe_a_side(text, limits, options, at, name):
    side = parse_side(text, "first", SideLimits(seconds=0.1))
    assert (str(side.limits), side.options, side.at, side.name) == (limits, options, at, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "seed",
            "'seed' is not KEY=VALUE; a key is an option of the engine, or one of time=, nodes=, depth=, clock=, at=",
        ),
        ("=3", "'=3' is not KEY=VALUE"),
        ("seed=", "'seed=' is not KEY=VALUE"),
        ("seed=1 seed=2", "seed is set twice, to '1' and '2'"),
        ("time=fast", "time is 'fast'; allowed is seconds per move"),
        ("time=0", "time is '0'; allowed is seconds per move"),
        ("time=nan", "time is 'nan'; allowed is seconds per move"),
        ("nodes=0", "nodes is '0'; allowed is a whole number from 1"),
        ("nodes=1e3", "nodes is '1e3'; allowed is a whole number from 1"),
        ("depth=-1", "depth is '-1'; allowed is a whole number from 1"),
        ("clock=1+x", "clock is '1+x'; allowed is seconds per game with an optional increment per move"),
        ("name='a", 'cannot read "name=\'a": No closing quotation'),
    ],
)
def test_words_that_do_not(text, message):
    with pytest.raises(BadMatch, match=re.escape(message)):
        parse_side(text, "first", SideLimits(seconds=0.1))
