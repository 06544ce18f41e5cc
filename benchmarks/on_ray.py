"""Count the units of a mirror by region with Daft on a local Ray cluster.

    pip install -e '.[ray]'
    python benchmarks/on_ray.py ruz

The counts are compared with those of `fk.count_by`; they must be the same.
"""

from __future__ import annotations

import sys
import time

import daft
import polars as pl
import ray
from daft import col

import finstat_kit as fk


def main(folder: str) -> None:
    """Count twice, compare, and tell how long each took."""
    mirror = fk.Mirror(folder)
    began = time.perf_counter()
    with fk.using(mirror):
        table = fk.count_by(mirror.snapshot(), "kraj")
    here = table.filter(pl.col("kind") != "gone")
    expected = dict(here.select("code", "count").rows())
    print(f"polars, one process: {time.perf_counter() - began:.2f} s")

    ray.init(log_to_driver=False)
    daft.set_runner_ray()
    began = time.perf_counter()
    versions = daft.read_deltalake(f"{folder}/units").where(col("problem").is_null())
    newest = versions.groupby("id").agg(col("version").max())
    there = versions.join(newest, on=["id", "version"]).where(col("gone").is_null())
    counts = there.groupby("kraj").agg(col("id").count()).to_pydict()
    found = dict(zip(counts["kraj"], counts["id"], strict=True))
    print(f"Daft on Ray, {int(ray.cluster_resources()['CPU'])} CPUs: ", end="")
    print(f"{time.perf_counter() - began:.2f} s")
    ray.shutdown()
    if found != expected:
        sys.exit(f"the counts differ: {found} and {expected}")
    print(f"equal: {sum(found.values()):,} units with {len(found)} codes or none")


if __name__ == "__main__":
    main(sys.argv[1])
