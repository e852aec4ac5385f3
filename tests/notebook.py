"""docs/notebook.ipynb, executed with Jupyter; after `make .venv/slow`, `python -m tests.notebook` renews it."""

import json
from pathlib import Path

from tests.patience import LONG

FILE = Path(__file__).parent.parent / "docs" / "notebook.ipynb"


def code_cells(notebook):
    """The source and the outputs of each cell of code."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), cell["outputs"]) for cell in cells]


def executed():
    """The notebook, executed in a kernel of its own."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(FILE, as_version=4)
    NotebookClient(notebook, timeout=LONG, record_timing=False).execute()
    return json.loads(nbformat.writes(notebook))


if __name__ == "__main__":
    FILE.write_text(json.dumps(executed(), indent=1, ensure_ascii=False) + "\n")
