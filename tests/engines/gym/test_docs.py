"""The examples of docs/gym.md run as they are written."""

import re
from pathlib import Path

import pytest

EXAMPLES = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[3] / "docs/gym.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number, capsys):
    names = {}
    exec(EXAMPLES[0], names)
    exec(EXAMPLES[number], names)
    assert len(EXAMPLES) == 3
    assert len(capsys.readouterr().out.splitlines()) >= 4
