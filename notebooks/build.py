"""Run the notebooks and write them back with normalised outputs: ``python notebooks/build.py``.

A second run writes the same text. With ``--check`` nothing is written and a difference is an error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def rebuilt(path: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs of a fresh run."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(HERE)}},
    ).execute()
    return _normalised(notebook)


def _normalised(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Take out what differs between runs and machines; leave what a reader sees."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            # A saved view without its state would only say that its model is not found.
            output.get("data", {}).pop(_WIDGET_VIEW, None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("data") != {}]
    return notebook


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Return what must not differ: everything but the bytes of pictures."""
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        for output in cell.get("outputs", []):
            for kind in ("image/png", "image/jpeg"):
                if kind in output.get("data", {}):
                    output["data"][kind] = ""
    return str(nbformat.writes(copy))


def main() -> None:
    """Rebuild the notebooks named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    differing = []
    for path in arguments.notebooks or sorted(HERE.glob("*.ipynb")):
        before, after = nbformat.read(path, as_version=4), rebuilt(path)
        if text_of(before) != text_of(after):
            differing.append(path.name)
            if not arguments.check:
                path.write_text(nbformat.writes(after) + "\n", encoding="utf-8")
    print(f"{'differ' if arguments.check else 'rewritten'}: {', '.join(differing) or 'none'}")
    sys.exit(1 if arguments.check and differing else 0)


if __name__ == "__main__":
    main()
