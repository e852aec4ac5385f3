"""docs/analyze.md and `--help` have every field of the code, and answers have no others."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from plyd.clients.analyze import fields
from plyd.clients.cli import main

TEXT = (Path(__file__).parents[3] / "docs" / "analyze.md").read_text()


def tables():
    """The rows of each table of fields, in the order of the page."""
    found = re.findall(r"^\| field \| type \| .*\n\|---\|.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    return [
        [tuple(cell.strip() for cell in row.strip("|").split(" | ")) for row in rows.splitlines()] for rows in found
    ]


@pytest.mark.parametrize(("at", "name"), list(enumerate(("QUERY", "ANSWER", "SCORE", "ACTION"))))
def test_page_explains_every_field_as_the_code_has_it(at, name):
    expected = [(f"`{one.name}`", one.kind, one.default, one.summary) for one in getattr(fields, name)]
    assert tables()[at] == expected


def test_help_names_every_field_of_queries_and_actions():
    text = CliRunner().invoke(main, ["analyze", "--help"]).stdout
    names = re.findall(r"^    (\w+)  +[A-Za-z]", text, re.MULTILINE)
    assert names == [one.name for one in fields.QUERY + fields.ACTION]
