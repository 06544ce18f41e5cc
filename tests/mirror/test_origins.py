"""Which register a mirror is of: a sample says it in a header of every reply, a mirror in its runs.

What else the runs say of the mirror, their format first, is noticed where it was changed.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import MirrorError
from finstat_kit.mirror.storage.runs import FORMAT
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http.server import served
from tests.conftest import Told
from tests.support.mirrors import assert_in_step, contents, sealed
from tests.support.registers import service
from tests.support.wire import get, raw

HEADER = "X-Invented-Data"


@contextlib.contextmanager
def tunnel(sample: Sample) -> Iterator[str]:
    """Serve a sample as a real register: nothing says that it is invented."""

    def answer(method: str, path: str, query: str) -> Reply:
        reply = sample._answer(method, path, query)
        del reply.headers[HEADER]
        return reply

    with served(answer, host="127.0.0.1", port=0) as url:
        yield url


@pytest.mark.parametrize(
    "target",
    ["/api/kraje", "/api/uctovne-jednotky", "/api/uctovna-jednotka?id=1", "/nowhere",
     "/api/uctovne-jednotky?max-zaznamov=0", "/openapi.json", "/api/kraje?" + "x" * 9_000],
)  # fmt: skip
def test_every_reply_says_whose_it_is(target: str) -> None:
    """In process and over HTTP, also where it is refused."""
    sample = fk.sample(7, seed=3)
    path, _, query = target.partition("?")
    with sample.serve() as url:
        _, headers, _ = get(url, target)

    expected = "finstat_kit sample; seed=3; units=7"
    assert sample._answer("GET", path, query).headers[HEADER] == expected
    assert headers[HEADER.lower()] == expected


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /api/kraje HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 405),
    ],
)
def test_refusals_say_whose_they_are_too(request_: bytes, status: int) -> None:
    """Refusals of a method have the header too."""
    with fk.sample(7).serve() as url:
        seen, headers, _ = raw(url, request_)

    assert (seen, headers[HEADER.lower()]) == (status, "finstat_kit sample; seed=0; units=7")


@pytest.mark.slow
def test_the_newest_good_reply_counts() -> None:
    """The client remembers what the newest good reply said; nothing, where it said nothing."""
    sample = fk.sample(7)
    with tunnel(sample) as url, fk.Register(url) as plain:
        assert plain.invented is None
        plain.regions()
        assert plain.invented is False
    with sample.serve() as url, fk.Register(url) as reg:
        assert reg.invented is None
        reg.regions()
        with pytest.raises(fk.errors.NotFound):
            reg.units.get(3)
        assert reg._session.exchange.invented == "finstat_kit sample; seed=0; units=7"
        assert reg.invented


def identity(sample: Sample) -> str:
    return sample._answer("GET", "/api/kraje", "").headers[HEADER]


def test_a_sample_is_known_by_its_recipe(tmp_path: Path) -> None:
    """Its seed, its size and codelists of another folder; not its state."""
    kraje = service(1)("GET", "/api/kraje", "").body
    (tmp_path / "kraje.json").write_bytes(kraje.replace(b"SK010", b"SK019"))
    changed = fk.sample(5)
    changed.publish(3)
    changed.set_today("2027-01-01")

    assert identity(changed) == identity(fk.sample(5)) == identity(fk.sample(5, strict=True))
    others = [fk.sample(5, seed=1), fk.sample(6), fk.sample(5, codelists=tmp_path)]
    assert len({identity(fk.sample(5)), *map(identity, others)}) == 4
    assert all(identity(other).isascii() for other in others)


@pytest.mark.slow
def test_another_sample_is_refused(tmp_path: Path, matrix: Told) -> None:
    """The error names both, and nothing is written."""
    mirror = fk.Mirror(tmp_path / "ruz", register=fk.sample(30))
    mirror.sync()
    before = contents(mirror.path)
    other = fk.sample(30, seed=1)
    names = r"is of finstat_kit sample; seed=0; units=30, not of finstat_kit sample; seed=1; units"

    with pytest.raises(fk.UsageError, match=names):
        fk.Mirror(mirror.path, register=other).sync()
    with other.serve() as url, pytest.raises(fk.UsageError, match=names):
        fk.Mirror(mirror.path, register=url).sync(full=True)
    with tunnel(fk.sample(30)) as url, pytest.raises(fk.UsageError, match=f"not of {url}"):
        fk.Mirror(mirror.path, register=url).sync()
    assert contents(mirror.path) == before
    matrix("a mirror of one sample, synced with another", "UsageError, both named", "UsageError")


@pytest.mark.slow
def test_the_same_sample_elsewhere_is_the_same_register(tmp_path: Path) -> None:
    """In process or at any port, and whatever happened to it: it is the same register."""
    sample = fk.sample(30)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()
    sample.set_today("2026-07-05")
    sample.publish(4)
    for _ in range(2):
        sample.touch(sample.units.ids(limit=5))
        with sample.serve() as url:
            again = fk.Mirror(mirror.path, register=url)
            again.sync()
            assert_in_step(again, sample)
    assert again.invented
    assert "finstat_kit sample; seed=0; units=30" in repr(again)


@pytest.mark.slow
def test_two_tunnels_are_two_registers(tmp_path: Path) -> None:
    """Without the header the address counts, port included; and nothing is called invented."""
    sample = fk.sample(30)
    with tunnel(sample) as url, tunnel(sample) as another:
        mirror = fk.Mirror(tmp_path / "ruz", register=url)
        mirror.sync()
        mirror.sync()
        with pytest.raises(fk.UsageError, match=f"is of {url}, not of {another}"):
            fk.Mirror(mirror.path, register=another).sync()
    with pytest.raises(fk.UsageError, match=f"is of {url}, not of finstat_kit sample; seed=0"):
        fk.Mirror(mirror.path, register=sample).sync()

    assert not mirror.invented
    assert "SAMPLE DATA" not in repr(mirror)
    assert url in mirror.cite(lang="en")
    assert "Invented" not in mirror.cite(lang="en")


def test_another_sample_at_the_same_port_is_refused(tmp_path: Path) -> None:
    """What was said of a former reply counts no more."""
    with fk.sample(30).serve() as url:
        port = int(url.rpartition(":")[2])
        register = fk.Register(url)
        mirror = fk.Mirror(tmp_path / "ruz", register=register)
        mirror.sync()
        register.close()
    with fk.sample(30, seed=1).serve(port=port), register:
        with pytest.raises(fk.UsageError, match="seed=1"):
            mirror.sync()


@pytest.mark.slow
def test_runs_of_another_mirror_list_what_is_not_there(tmp_path: Path) -> None:
    """What came from another mirror's folder is named by a read, a sync and verify."""
    sample, other = fk.sample(30), fk.sample(30, seed=1)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()
    another = fk.Mirror(tmp_path / "other", register=other)
    another.sync()
    shutil.rmtree(mirror.path / "runs")
    shutil.copytree(another.path / "runs", mirror.path / "runs")

    with pytest.raises(MirrorError, match=r"is gone: lost"):
        fk.Mirror(mirror.path).units.count()
    with pytest.raises(fk.UsageError, match=r"is of .*seed=1.*, not of .*seed=0"):
        mirror.sync()
    assert mirror.verify().filter(pl.col("damaged") > 0).height


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused(mirror: fk.Mirror, number: int, matrix: Told) -> None:
    """It is refused with the cure, and nothing is written."""
    sealed(max(mirror.path.glob("runs/*.json")), format=number)
    before = contents(mirror.path)
    cure = "sync into another folder" if number < FORMAT else "pip install --upgrade"
    words = rf"is of format {number}, and this .* reads {FORMAT} alone: {cure}"

    fresh = fk.Mirror(mirror.path, register=fk.sample(60))
    for call in (fresh.snapshot, fresh.units.count, fresh.sync, lambda: fresh.sync(full=True)):
        with pytest.raises(MirrorError, match=words):
            call()
    assert "format" in fresh.verify()["meaning"][0]
    assert repr(fresh)
    assert contents(mirror.path) == before
    matrix(f"a mirror of format {number}", "MirrorError with the cure", "MirrorError")
