"""Measure every figure side by side and print a table per subject.

    python benchmarks/run.py            about ten minutes
    python benchmarks/run.py --quick    about two minutes
    python benchmarks/run.py --markdown start_up    one subject, also into the table of the docs

Ratios hold for other machines; times do not. Install the peers with:

    pip install -e '.[server]' --group bench
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import contents
import contents_mirror
import embedded_register
import filing_walk
import findings
import label_columns
import local_copy
import many_records
import one_connection
import pull
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
        filing_walk,
        label_columns,
        start_up,
        embedded_register,
        local_copy,
        contents_mirror,
        pull,
        findings,
    )
}
_RESULTS = Path(__file__).parent / "results"
_PACKAGES = (
    "finstat-kit", "polars", "numpy", "httpx", "orjson", "msgspec", "uvicorn",
    "requests", "pandas", "dlt",
)  # fmt: skip


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats: about two minutes")
    parser.add_argument("--markdown", action="store_true", help=f"write {_RESULTS.name}/*.md")
    parser.add_argument("only", nargs="*", metavar="subject", help=", ".join(_SUBJECTS))
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(_SUBJECTS)
    if unknown:
        parser.error(f"no subject: {', '.join(sorted(unknown))}; there are {', '.join(_SUBJECTS)}")

    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # everything here is on this machine

    for name in arguments.only or _SUBJECTS:
        start = time.perf_counter()
        figures = list(_SUBJECTS[name](arguments.quick))
        section = f"{_table(figures)}\n\n{_machine()}\n"
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        print(f"# {figures[0].subject}\n\n{section}")
        if arguments.markdown:
            (_RESULTS / f"{name}.md").write_text(section, encoding="utf-8")


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"Measured on {platform.machine()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}; {packages}."
    )


def _table(figures: Iterable[Figure]) -> str:
    lines = ["| figure | measured | goal | met |", "|---|---:|---:|---|"]
    for figure in figures:
        goal = ""
        if figure.goal is not None:
            goal = f"{'≥' if figure.least else '≤'} {_number(figure.goal)}{figure.unit}"
        met = {None: "", True: "yes", False: "**no**"}[figure.met]
        measured = f"{_number(figure.value)}{figure.unit}"
        lines.append(f"| {figure.what} | {measured} | {goal} | {met} |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 50 else f"{value:.3g}"


if __name__ == "__main__":
    main()
