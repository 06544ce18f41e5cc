"""What a mirror takes: to commit a batch, to read everything back, and in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from statistics import mean, median

import numpy as np
import polars as pl
from contents_mirror import begun
from timing import Figure, memory, side_by_side

import finstat_kit as fk
from finstat_kit.mirror.mirror import Mirror
from finstat_kit.mirror.storage.rows import LISTED, RECORD, rows_of
from finstat_kit.mirror.storage.writer import Batch

_SUBJECT = "mirror"
_BATCH = 10_000
_DAY = date(2026, 6, 30)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure commits while the log grows, then what it takes to read it back."""
    batches = 50 if quick else 200
    with tempfile.TemporaryDirectory() as folder:
        times = write(Path(folder), np.arange(1, batches * _BATCH + 1) * 3)
        fifth = batches // 5
        first, last = median(times[:fifth]) * 1e3, median(times[-fifth:]) * 1e3
        units = f"{batches * _BATCH:,}"
        yield Figure(
            _SUBJECT, f"batch of 10,000, on the way to {units} units", last, 40.0,
            least=False, unit=" ms",
        )  # fmt: skip
        yield Figure(
            _SUBJECT, "batch of 10,000, with its share of compaction", mean(times) * 1e3, unit=" ms"
        )
        yield Figure(
            _SUBJECT, "the last fifth of the batches to the first", last / first, 1.5, least=False
        )
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), np.arange(1, 1_000_001) * 3)
        mirror = Mirror(folder)

        def read(*columns: str) -> None:
            units = mirror.snapshot()
            (units.select(columns) if columns else units).collect()

        taken = side_by_side(3 if quick else 9, all=read, three=lambda: read("id", "kraj", "gone"))
        yield Figure(
            _SUBJECT, "newest of 1,000,000 units, all columns", taken["all"] * 1e3, 300.0,
            least=False, unit=" ms",
        )  # fmt: skip
        yield Figure(
            _SUBJECT, "newest of 1,000,000 units, three columns", taken["three"] * 1e3, unit=" ms"
        )
    increment = 100_000 if quick else 2_000_000
    seen = subprocess.run(
        [sys.executable, __file__, str(increment)], check=True, stdout=subprocess.PIPE, text=True
    )
    megabytes, seconds = json.loads(seen.stdout)
    what = f"increment of {increment:,} records onto 2,000,000: "
    yield Figure(_SUBJECT, what + "peak memory", megabytes, 1_000.0, least=False, unit=" MB")
    yield Figure(
        _SUBJECT, what + "records a second, register included", increment / seconds, unit="/s"
    )


def write(folder: Path, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[float]:
    """Write a complete mirror of units with these ids; return the seconds of each batch."""
    sample = fk.sample()
    records = sample.units.get(sample.units.ids(limit=_BATCH))
    writer, times = begun(folder, f"finstat_kit sample; seed=0; units={len(ids)}"), []
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        units = records.head(len(some)).with_columns(
            pl.Series("id", some), digest=pl.col("id").cast(pl.Int64)
        )
        writer.append_ids("units", units.select("id"), LISTED, _DAY)
        rows = rows_of("units", units, RECORD, writer.next("units"), _DAY)
        began = time.perf_counter()
        writer.append(Batch("units", rows))
        times.append(time.perf_counter() - began)
    writer.point(["units"])
    return times


def main(increment: int) -> None:
    """Sync an increment in this process; print its peak memory without the register, and time."""
    with tempfile.TemporaryDirectory() as folder:
        before = memory("VmRSS")
        sample = fk.sample(2_000_000)
        ids = sample.units.ids()["id"]
        # The register draws its filings with the first record, and each list with its first page.
        sample.units.get(ids.head(1))
        for collection in (sample.statements, sample.reports, sample.annual_reports):
            collection.ids(limit=1)
        held = memory("VmRSS") - before
        subprocess.run([sys.executable, "-c", _MAKE, folder], check=True, cwd=Path(__file__).parent)
        sample.set_today("2026-07-02")
        sample.touch(ids.head(increment))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins here
        began = time.perf_counter()
        report = Mirror(folder, register=sample).sync()
        seconds = time.perf_counter() - began
        assert report["changed"][0] + report["gone"][0] >= increment
        print(json.dumps([memory("VmHWM") - held, seconds]))


_MAKE = """
import sys
from pathlib import Path
import finstat_kit as fk
from local_copy import write
write(Path(sys.argv[1]), fk.sample(2_000_000).units.ids()["id"].to_numpy())
"""

if __name__ == "__main__":
    main(int(sys.argv[1]))
