"""docs/notebook.ipynb gives what it shows, in the same words. Numbers and boards may differ: several threads search."""

import ast
import contextlib
import importlib.util
import io
import json
import re

import pytest

from tests.lacking import give_up
from tests.notebook import FILE, code_cells, executed


def run(source, names):
    """What a cell gives, as Jupyter would say it: what it prints, and the kinds and the text of its last value."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last else None
    if printed.getvalue():
        outputs.append(printed.getvalue())
    if value is not None:
        kinds = {"text/plain"} | ({"image/svg+xml"} if hasattr(value, "_repr_svg_") else set())
        outputs.append((kinds, repr(value)))
    return outputs


def told(outputs):
    """Outputs of a notebook in the same form."""
    texts = ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]
    values = [output["data"] for output in outputs if output["output_type"] == "execute_result"]
    assert len(texts) + len(values) == len(outputs)
    return texts + [(set(value), "".join(value["text/plain"])) for value in values]


def stable(outputs):
    """Outputs without what differs from run to run: how a search went, numbers, and boards as text."""
    return re.sub(r", depth [^>]*|\d[\d,.]*|[.xo/]{40,}", "N", json.dumps(outputs, default=sorted))


def test_the_notebook_shows_what_its_cells_give():
    names = {}
    cells = code_cells(json.loads(FILE.read_text()))
    assert len(cells) > 5
    for source, outputs in cells:
        assert stable(run(source, names)) == stable(told(outputs)), source
    kinds = [kind for _, outputs in cells for output in outputs for kind in output.get("data", ())]
    assert kinds.count("image/svg+xml") >= 4


@pytest.mark.slow
def test_jupyter_gives_the_same():
    if importlib.util.find_spec("nbclient") is None:
        give_up("nbclient is not installed; `make .venv/slow` installs it")
    shown, given = code_cells(json.loads(FILE.read_text())), code_cells(executed())
    assert [stable(told(outputs)) for _, outputs in given] == [stable(told(outputs)) for _, outputs in shown]
