"""The notebooks hold what a fresh run gives, pictures aside, which are not compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


@pytest.mark.slow
def test_a_rebuild_changes_nothing() -> None:
    """notebooks/build.py would write what is committed, pickers too; nbval runs all notebooks."""
    command = [
        sys.executable,
        str(FOLDER / "build.py"),
        "--check",
        str(FOLDER / "04_pickers.ipynb"),
    ]
    seen = subprocess.run(command, capture_output=True, text=True)

    assert seen.stdout == "differ: none\n"
    assert seen.returncode == 0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_with_outputs_and_no_errors(path: Path) -> None:
    """Committed with outputs, without errors and widget states; no output is ignored."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]

    assert "widgets" not in notebook["metadata"]
    assert any(cell["outputs"] for cell in code)
    for cell in code:
        source = "".join(cell["source"])  # type: ignore[arg-type]
        assert not source.rstrip().endswith(";")
        assert "NBVAL" not in source
        assert cell["metadata"] == {}
        assert cell["execution_count"] is not None
    assert "fk.use(" in "".join(code[0]["source"])  # type: ignore[arg-type]
