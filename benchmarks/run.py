"""Measure every figure side by side and print the table.

    python benchmarks/run.py            about ten minutes
    python benchmarks/run.py --quick    about two minutes

Ratios hold for other machines; times do not. Install the peers with: pip install -e '.[bench]'
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from itertools import chain

import cells
import contents
import embedded_register
import label_columns
import local_copy
import many_records
import one_connection
import split_walks
import start_up
from timing import Figure

_SUBJECTS = {
    module.__name__: module.figures
    for module in (
        split_walks,
        one_connection,
        many_records,
        contents,
        label_columns,
        start_up,
        embedded_register,
        local_copy,
    )
} | {"contents": lambda quick: chain(contents.figures(quick), cells.figures(quick))}
_PACKAGES = (
    "finstat-kit", "polars", "numpy", "httpx", "orjson", "msgspec", "uvicorn", "deltalake",
    "requests", "pandas", "dlt",
)  # fmt: skip


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats: about two minutes")
    parser.add_argument("only", nargs="*", metavar="subject", help=", ".join(_SUBJECTS))
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(_SUBJECTS)
    if unknown:
        parser.error(f"no subject: {', '.join(sorted(unknown))}; there are {', '.join(_SUBJECTS)}")

    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # everything here is on this machine

    found: list[Figure] = []
    for name in arguments.only or _SUBJECTS:
        start = time.perf_counter()
        found += _SUBJECTS[name](arguments.quick)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(_table(found))
    print()
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, ", end="")
    print(f"Python {platform.python_version()}; ", end="")
    print(", ".join(f"{name} {version(name)}" for name in _PACKAGES))


def _table(figures: Iterable[Figure]) -> str:
    lines = ["| subject | figure | measured | goal | met |", "|---|---|---:|---:|---|"]
    for figure in figures:
        goal = ""
        if figure.goal is not None:
            goal = f"{'≥' if figure.least else '≤'} {_number(figure.goal)}{figure.unit}"
        met = {None: "", True: "yes", False: "**no**"}[figure.met]
        measured = f"{_number(figure.value)}{figure.unit}"
        lines.append(f"| {figure.subject} | {figure.what} | {measured} | {goal} | {met} |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 50 else f"{value:.3g}"


if __name__ == "__main__":
    main()
