"""How long a fresh process takes, against the import of polars."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from timing import Figure, side_by_side


def figures(quick: bool) -> Iterator[Figure]:
    """Measure fresh processes in turns."""
    scripts = {
        "polars": "import polars",
        "alone": "import finstat_kit",
        "regions": "import finstat_kit as fk; fk.use(fk.sample()); print(fk.regions())",
    }
    works = {name: partial(_run, script) for name, script in scripts.items()}
    times = side_by_side(5 if quick else 15, **works)
    for name, what, goal in (
        ("regions", "fresh process to printed fk.regions()", 1.8),
        ("alone", "import finstat_kit", 1.15),
    ):
        yield Figure(
            "start-up", f"{what}, to import polars", times[name] / times["polars"], goal,
            least=False,
        )  # fmt: skip


def _run(script: str) -> None:
    # Bytecode is written by the first run, as pip does for an installed package.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL, env=environment
    )
