"""Networks by name: what patterns a text lists, and what is said of a text that lists none."""

import pytest

from plyd.models.errors import BadWeights
from plyd.models.ntuple.patterns import LAB, NETWORKS, patterns_of, text_of


@pytest.mark.parametrize("name", NETWORKS)
def test_a_name_and_the_text_behind_it_are_the_same_network(name):
    assert patterns_of(name) == patterns_of(NETWORKS[name])


@pytest.mark.parametrize("name", NETWORKS)
def test_a_named_network_has_a_pattern_for_each_word_with_its_cells_in_ascending_order(name):
    patterns = patterns_of(name)
    assert len(patterns) == len(NETWORKS[name].split())
    for word, pattern in zip(NETWORKS[name].split(), patterns, strict=True):
        assert {f"{cell:x}" for cell in pattern} == set(word)
        assert list(pattern) == sorted(set(pattern))


def test_a_network_is_known_by_its_name():
    assert patterns_of("lab") == [
        (0, 1, 2, 3, 4, 5),
        (4, 5, 6, 7, 8, 9),
        (0, 1, 2, 4, 5, 6),
        (4, 5, 6, 8, 9, 10),
    ]
    assert len(patterns_of("lab-extra")) == 7
    assert len(patterns_of("8x6")) == 8


def turned_by_half(pattern):
    return tuple(sorted(15 - cell for cell in pattern))


def test_4x6_is_the_labs_network_turned_by_half():
    assert sorted(map(turned_by_half, patterns_of("4x6"))) == sorted(patterns_of(LAB))


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("0", [(0,)]),
        ("f", [(15,)]),
        ("0123 4567", [(0, 1, 2, 3), (4, 5, 6, 7)]),
        ("  0123\t4567\n", [(0, 1, 2, 3), (4, 5, 6, 7)]),
        ("5fa0", [(0, 5, 10, 15)]),
        ("543210", [(0, 1, 2, 3, 4, 5)]),
    ],
)
def test_a_text_lists_patterns_of_cells_in_any_order(text, patterns):
    assert patterns_of(text) == patterns


@pytest.mark.parametrize(
    "text",
    [
        "Lab",
        "LAB",
        "4x7",
        "0123456",
        "0123 0123456",
        "00",
        "0120",
        "ABCD",
        "012g",
        "0,1",
        "01-2",
        "0x1",
        "²",
        "٣",
        "lab lab",
    ],
)
def test_what_is_no_network_is_quoted_and_networks_are_named(text):
    with pytest.raises(BadWeights) as error:
        patterns_of(text)
    assert f'"{text}"' in str(error.value)
    for name in NETWORKS:
        assert name in str(error.value)


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_a_network_without_a_pattern_is_refused(text):
    with pytest.raises(BadWeights, match="at least one pattern"):
        patterns_of(text)


@pytest.mark.parametrize("name", [*NETWORKS, "0", "fa50 543210", "0123 4567 048c"])
def test_patterns_are_read_again_from_their_text(name):
    patterns = patterns_of(name)
    assert patterns_of(text_of(patterns)) == patterns


def test_a_text_has_cells_as_hexadecimal_digits():
    assert text_of([(0, 5, 10, 15), (8, 9)]) == "05af 89"
    assert text_of(patterns_of("lab")) == LAB
