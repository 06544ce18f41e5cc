"""Read one item of all filings by region with polars, DuckDB, Daft and Daft on a local Ray cluster.

    pip install -e . --group ray
    python benchmarks/on_ray.py ruz

The mirror has to keep statements and reports. The numbers of all four must be the same.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import daft
import duckdb  # noqa: F401 - loaded before the clock starts
import ray
from by_region import Found, by_mirror, daft_locally, duckdb_locally

_ENGINES: dict[str, Callable[[str], Found]] = {
    "polars, streaming": by_mirror,
    "DuckDB": duckdb_locally,
    "Daft": daft_locally,
    "Daft on Ray": daft_locally,
}


def timed(engine: str, folder: str) -> tuple[list[float], Found]:
    """Read it twice by an engine; return the seconds of each time, and the numbers."""
    if engine == "Daft on Ray":
        ray.init(log_to_driver=False)
        daft.set_runner_ray()
    seconds, found = [], Found()
    for _ in range(2):
        began = time.perf_counter()
        found = _ENGINES[engine](folder)
        seconds.append(time.perf_counter() - began)
    return seconds, found


def main(folder: str) -> None:
    """Read it by each engine in a process of its own, and compare."""
    answers: dict[str, Found] = {}
    for engine in _ENGINES:
        # Daft has one runner per process.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            (first, again), answers[engine] = process.submit(
                partial(timed, engine, folder)
            ).result()
        print(f"{engine}: {first:.2f} s, again {again:.2f} s", flush=True)
    one, *others = answers.values()
    if any(other != one for other in others):
        sys.exit(f"the numbers differ: {answers}")
    filings, cents = (sum(numbers) for numbers in zip(*one.values(), strict=True))
    print(f"equal: {filings:,} filings of {len(one)} regions, {cents / 100:,.2f} in all")


if __name__ == "__main__":
    main(sys.argv[1])
