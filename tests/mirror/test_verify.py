"""`verify`: it names what is not as it was written, and disturbs nothing."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import deltalake
import polars as pl
import pytest
from hypothesis import HealthCheck, given, strategies as st

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from tests.support.examples import examples
from tests.support.mirrors import assert_in_step, looked_at
from tests.support.registers import Watched
from tests.support.syncs import register_of_syncs

a_register = register_of_syncs


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> fk.Mirror:
    """Give a mirror in sound health, of few bytes."""
    register = fk.sample(40)
    mirror = fk.Mirror(tmp_path_factory.mktemp("sound"), register=register)
    mirror.sync()
    return mirror


@pytest.mark.slow
@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_is_found_by_verify(sound: fk.Mirror, data: st.DataObject) -> None:
    """Wherever a bit is flipped, verify finds the file, and does not break down with it."""
    files = sorted(sound.path.glob("*/*.parquet"))
    file = data.draw(st.sampled_from(files))
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(flipped)
    try:
        report = sound.verify()
    finally:
        file.write_bytes(whole)

    bad = report.filter(pl.col("meaning") != "")["file"].to_list()
    assert bad == [str(file.relative_to(sound.path))]


def test_rows_of_another_writer_are_found_by_verify(mirror: fk.Mirror, register: Watched) -> None:
    """A file that something else has put there does not bear the name of its bytes."""
    table = deltalake.DeltaTable(mirror.path / "units")
    rows = pl.scan_delta(table).head(7).with_columns(kraj=pl.lit("SK099")).collect()
    deltalake.write_deltalake(table, rows.to_arrow(compat_level=pl.CompatLevel.oldest()),
                              mode="append")  # fmt: skip

    report = mirror.verify()
    assert report["damaged"].to_list()[:2] == [7, 0]
    assert "it is not as it was written" in report["meaning"][0]
    with pytest.raises(MirrorError, match=r"is not as it was written; sync\(full=True\)"):
        fk.Mirror(mirror.path).snapshot()
    mirror.sync(full=True)
    assert_in_step(mirror, register.sample)


@pytest.mark.slow
def test_damage_is_repaired(mirror: fk.Mirror, register: Watched) -> None:
    """What verify says to do brings the mirror back in step."""
    file = max(mirror.path.glob("units/*.parquet"))
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    file.write_bytes(damaged)

    report = mirror.verify()
    assert report["file"][0] == f"units/{file.name}"
    assert report["damaged"][0] > 0
    assert "sync(full=True)" in report["meaning"][0]
    mirror.sync(full=True)

    assert_in_step(mirror, register.sample)
    assert mirror.verify()["damaged"].sum() == 0


def test_verify_leaves_the_tables_of_the_object_alone(mirror: fk.Mirror) -> None:
    """What a sync is walking on stays what it is."""
    logs = mirror._folder.logs.values()
    before = [log._delta for log in logs]
    mirror.verify()

    assert all(log._delta is b for log, b in zip(logs, before, strict=True))


@pytest.mark.slow
def test_verify_runs_beside_a_sync_of_the_same_object(mirror: fk.Mirror, register: Watched) -> None:
    """The versions go up, and the copy is in step."""
    ended = threading.Event()

    def look() -> int:
        looks = 0
        while not ended.is_set():
            mirror.verify()
            mirror.units.count()  # looks at all tables, as every question does
            looks += 1
        return looks

    versions = []
    with ThreadPoolExecutor(1) as pool:
        looks = pool.submit(look)
        try:
            for _ in range(6):
                register.sample.set_today(register.today + timedelta(days=1))
                register.sample.touch(register.sample.units.ids(limit=20))
                mirror.sync()
                versions.append(max(e.last for e in looked_at(fk.Mirror(mirror.path)).entries()))
        finally:
            ended.set()

    assert looks.result() > 0
    assert versions == sorted(set(versions))
    assert_in_step(fk.Mirror(mirror.path), register.sample)


def test_a_table_of_another_mirror_is_wrong_as_a_whole(tmp_path: Path, mirror: fk.Mirror) -> None:
    """None of its rows is right, whether it has fewer or more than the runs count."""
    other = fk.Mirror(tmp_path / "other", register=fk.sample(30))
    other.sync()
    shutil.rmtree(mirror.path / "units")
    shutil.copytree(other.path / "units", mirror.path / "units")

    units = fk.Mirror(mirror.path).verify().filter(pl.col("file").str.starts_with("units"))

    assert units["file"].to_list() == ["units"]
    assert units["damaged"].to_list() == units["rows"].to_list()
    assert units["rows"].item() > 30
    assert "another mirror" in units["meaning"].item()
