"""`verify`: it names what is not as it was written, and disturbs nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import HealthCheck, given, strategies as st

import finstat_kit as fk
from tests.support.examples import examples
from tests.support.mirrors import assert_in_step
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
    files = sorted(sound.path.glob("data/*.parquet"))
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


@pytest.mark.slow
def test_verify_runs_beside_a_sync_of_the_same_object(mirror: fk.Mirror, register: Watched) -> None:
    """The versions go up, and the copy is in step."""
    ended = threading.Event()

    def look() -> int:
        looks = 0
        while not ended.is_set():
            mirror.verify()
            mirror.units.count()
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
                versions.append(max(pl.read_parquet(mirror.files("units"))["version"]))
        finally:
            ended.set()

    assert looks.result() > 0
    assert versions == sorted(set(versions))
    assert_in_step(fk.Mirror(mirror.path), register.sample)
