"""A notebook on a register that is gone: recorded once, from then on a regression test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import finstat_kit as fk
from tests.support.latency import late

CELLS = [
    "import polars as pl\n\nimport finstat_kit as fk",
    'ids = fk.units.ids(changed_since="2026-06-01")\nids.height, fk.units.count()',
    "units = fk.units.get(ids)\nunits",
    'fk.count_by(units, "kraj", lang="en")',
    'fk.resolve_labels(units).select("id", "region", "municipality").head(5)',
    "fk.statements.get(fk.statements.ids(limit=20))",
    'fk.Explorer(units, lang="en")',
]

EXECUTE = ("nbconvert", "--execute", "--to", "notebook", "--inplace", "my.ipynb")


def run(*command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.mark.slow
def test_a_recorded_notebook_passes_with_the_register_gone(tmp_path: Path) -> None:
    """Recorded over four connections with latency, replayed under strict nbval."""
    path = tmp_path / "my.ipynb"
    sample = fk.sample(3_000)
    with late(sample, 0.02) as url:
        options = 'cache="ruz.cache", connections=4, rate=None, page_size=1_000'
        first = f"import finstat_kit as fk\nfk.use(fk.Register({url!r}, {options}))"
        cells = [nbformat.v4.new_code_cell(text) for text in (first, *CELLS)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        seen = run(*EXECUTE, folder=tmp_path)
        assert seen.returncode == 0, seen.stderr

    # The line that recorded is removed; the environment chooses from now on.
    executed = nbformat.read(path, as_version=4)
    del executed.cells[0]
    nbformat.write(executed, path)
    recorded = (tmp_path / "ruz.cache").read_bytes()

    strict = ("--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "--rootdir", ".")
    command = ("pytest", "-q", *strict, "my.ipynb")
    seen = run(*command, folder=tmp_path, FINSTAT_KIT_URL="cache:ruz.cache")
    assert f"{len(CELLS)} passed" in seen.stdout, seen.stdout
    assert (tmp_path / "ruz.cache").read_bytes() == recorded
