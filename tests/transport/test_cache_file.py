"""The cache file and the machine: killed, shared, full, locked, damaged."""

from __future__ import annotations

import _thread
import contextlib
import gc
import itertools
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

import finstat_kit as fk
from finstat_kit.errors import CacheError
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.cache_file import CacheFile
from tests.support.examples import quick, slow
from tests.support.remote_sample import Behind

ROOT = Path(__file__).parents[2]

# Fetches records of a sample through a file, from a place on, until it is ended.
FETCHES = """
import sys
import finstat_kit as fk
file, start = sys.argv[1], int(sys.argv[2])
with fk.using("sample", cache=file) as reg:
    ids = reg.units.ids()["id"]
    print("ready", flush=True)
    for id_ in ids[start:]:
        reg.units.get(int(id_))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ruz.cache"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the records of 60 units, two codelists and a list."""
    file = tmp_path_factory.mktemp("recorded") / "ruz.cache"
    with fk.using("sample", cache=file) as reg:
        reg.units.get(reg.units.ids(limit=60))
        reg.regions(), reg.codelist("size_classes")
    return file


@contextmanager
def fetching(file: Path, start: int, script: str = FETCHES) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script, str(file), str(start)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def assert_whole(file: Path) -> int:
    """Every reply in the file is the sample's; return how many there are."""
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT target FROM replies WHERE target LIKE '%jednotka?%'")
        ids = sorted(int(target.partition("id=")[2]) for (target,) in rows)
    with fk.using(f"cache:{file}") as replayed:
        assert replayed.units.get(ids).equals(fk.sample().units.get(ids))
    return len(ids)


# Keeps replies, one commit each, until it is ended.
KEEPS = """
import sys
from datetime import date
from pathlib import Path
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.cache_file import About, CacheFile
about = About("https://ruz.example", None, 10_000)
file = CacheFile(Path(sys.argv[1]), about, lambda: date(2026, 6, 30), lambda: 1.8e9)
print("ready", flush=True)
for id_ in range(int(sys.argv[2]), 10**6):
    file.keep(f"/api/uctovna-jednotka?id={id_}", Reply(200, {}, b"%d " % id_ * 300))
"""


@pytest.mark.slow
def test_killed_at_random(file: Path) -> None:
    """Whatever was committed is there and right, and the next process goes on."""
    if sys.platform == "win32":
        pytest.skip("Windows has no SIGKILL")
    luck, times = random.Random(1), 8
    kept = 0
    for number in range(times):
        with fetching(file, number * 1_000, KEEPS) as process:
            time.sleep(luck.random() * 0.1)
            process.send_signal(signal.SIGKILL)
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = connection.execute("SELECT target FROM replies")
            ids = [int(target.partition("id=")[2]) for (target,) in rows]
        replayed = CacheFile(file, None)
        for id_ in ids:
            found = replayed.find(f"/api/uctovna-jednotka?id={id_}")
            assert found is not None
            assert found[1].body == b"%d " % id_ * 300
        assert len(ids) >= kept
        kept = len(ids)
    assert kept >= times


@pytest.mark.slow
def test_two_processes_at_once(file: Path) -> None:
    with fetching(file, 19_900) as one, fetching(file, 19_850) as other:
        assert (one.wait(60), other.wait(60)) == (0, 0)
    assert assert_whole(file) == 150


@pytest.mark.slow
def test_many_threads(file: Path) -> None:
    with fk.using("sample", cache=file) as reg:
        ids = reg.units.ids(limit=200)["id"].to_list()
        threads = [threading.Thread(target=reg.units.get, args=(ids[n::4],)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert assert_whole(file) == 200


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it lists open files")
def test_the_file_is_open_only_while_it_is_used(file: Path) -> None:
    """So nothing has to be closed, and a child inherits no connection."""
    reg = Behind(fk.sample(30)).register(cache=file)
    reg.units.get(reg.units.ids(limit=5))
    with fk.using(f"cache:{file}"):
        fk.units.ids(limit=5)

    links = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert not [link for link in links if link.name.startswith(file.name)]


def changed_byte(file: Path, place: int, bit: int) -> None:
    body = bytearray(file.read_bytes())
    body[place] ^= 1 << bit
    file.write_bytes(body)


def flips(file: Path, copy: Path, times: int) -> None:
    """Flip one bit after another: each answer is right, or an error of ours."""
    luck = random.Random(5)
    size = file.stat().st_size
    sample = fk.sample()
    ids = sample.units.ids(limit=60)["id"].to_list()
    expected = sample.units.get(ids), sample.regions()
    refused = 0
    for _ in range(times):
        shutil.copyfile(file, copy)
        changed_byte(copy, luck.randrange(size), luck.randrange(8))
        try:
            with fk.using(f"cache:{copy}") as replayed:
                for id_, record in zip(ids, expected[0].iter_slices(1), strict=True):
                    assert replayed.units.get(id_).equals(record)
                assert replayed.regions().equals(expected[1])
        except (CacheError, fk.UsageError):
            refused += 1
    assert refused > times / 4


@pytest.mark.slow
def test_a_flipped_bit_is_refused(recorded: Path, file: Path) -> None:
    flips(recorded, file, 20)


def test_a_damaged_reply_is_an_error_with_its_cure(recorded: Path, file: Path) -> None:
    """Whether the register may send or not."""
    shutil.copyfile(recorded, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE replies SET body = x'00' WHERE target LIKE '%jednotka?id=210'")
    for source, cache in ((f"cache:{file}", None), ("sample", file)):
        with fk.using(source, cache=cache) as reg:
            assert reg.units.get(365).height == 1
            with pytest.raises(CacheError, match="remove it and record it again") as caught:
                reg.units.get([365, 210])
            assert caught.value.partial is not None
            assert caught.value.partial["id"].to_list() == [365]


@contextmanager
def locked(file: Path, kind: str = "EXCLUSIVE") -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"BEGIN {kind}")
        yield


@pytest.mark.slow
def test_a_locked_file_is_an_error_with_its_cure(recorded: Path, file: Path) -> None:
    shutil.copyfile(recorded, file)
    with fk.using("sample", cache=file) as reg:
        with locked(file), pytest.raises(CacheError, match=r"is locked; .*another process holds"):
            reg.units.get([210, 365])
        assert reg.units.get([210, 365]).equals(fk.sample().units.get([210, 365]))
    assert assert_whole(file) == 60


@pytest.mark.slow
@pytest.mark.parametrize("connections", [1, 4])
def test_ctrl_c_does_not_wait_for_another_process(file: Path, connections: int) -> None:
    """The wait for the file is of 0.4 s at most."""
    reg = Behind(fk.sample(30)).register(cache=file, connections=connections)
    ids = reg.units.ids()
    struck_at: list[float] = []

    def strike() -> None:
        struck_at.append(time.monotonic())
        _thread.interrupt_main()

    def fetch_on() -> None:
        while True:  # a busy machine may strike after the first error
            with contextlib.suppress(CacheError):
                reg.units.get(ids)

    with locked(file, "IMMEDIATE"):
        threading.Timer(0.05, strike).start()
        with pytest.raises(KeyboardInterrupt):
            fetch_on()
    took = time.monotonic() - struck_at[0]

    assert took < 1
    assert reg.units.get(ids).height == ids.height
    assert reg.cache is not None
    assert reg.cache.replies == ids.height + 1
    reg.close()


def struck(work: Callable[[], object], number: int) -> KeyboardInterrupt | None:
    """Do work that Ctrl-C meets in the cache; return it, None if the work has fewer steps.

    Python raises Ctrl-C where a function begins, or after one written in C.
    """
    steps = itertools.count(1)

    def step(frame: FrameType, event: str, argument: object) -> None:
        in_cache = Path(frame.f_code.co_filename).name in CACHE
        if in_cache and event in ("call", "c_return") and next(steps) == number:
            raise KeyboardInterrupt

    sys.setprofile(step)
    try:
        work()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None


CACHE = {"cache_file.py", "contextlib.py"}


# Between opening and the block that closes, it is Python that closes, and from 3.13 on says so.
@pytest.mark.filterwarnings("ignore:.*sqlite3:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("first", [2, *slow(*range(4, 60, 2))])
def test_ctrl_c_leaves_the_file_usable_by_all(file: Path, first: int) -> None:
    """Wherever it strikes, and even if its traceback is kept, as IPython does."""
    behind = Behind(fk.sample(30))
    ids = behind.sample.units.ids()["id"][:4]
    strikes = 0
    for number in itertools.count(first, 59):
        with behind.register(cache=file) as reg:
            reg.units.get(ids[:2])
            error = struck(partial(reg.units.get, ids), number)
            if error is None:
                break
            strikes += 1
            # No lock is left on the file, nor in this process.
            with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
            thread = threading.Thread(target=reg.units.get, args=(ids,), daemon=True)
            thread.start()
            thread.join(10)
            assert not thread.is_alive()
            assert reg.cache is not None
            assert reg.cache.replies >= 4
        del error
        gc.collect()
        file.unlink()
    assert strikes > 2


# Fetches records through a file that may not grow beyond a few pages.
FULL = """
import resource, signal, sys
import finstat_kit as fk
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with fk.using("sample", cache=sys.argv[1]) as reg:
    ids = reg.units.ids(limit=200)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
    try:
        reg.units.get(ids)
    except fk.errors.CacheError as error:
        print("if the disk is full" in str(error), 0 < error.partial.height < 200)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of files")
def test_a_full_disk_is_an_error_with_what_came(file: Path) -> None:
    command = [sys.executable, "-c", FULL, str(file)]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout == "True True\n"
    assert assert_whole(file) > 0


def test_a_file_removed_meanwhile_is_made_anew(file: Path) -> None:
    with fk.using("sample", cache=file) as reg:
        reg.units.get([210, 365])
        file.unlink()
        reg.units.get([210])
        assert reg.cache is not None
        assert reg.cache.replies == 1
    assert assert_whole(file) == 1


def moved(source: Path, target: Path) -> None:
    source.replace(target)


def checked_out(source: Path, target: Path) -> None:
    target.unlink()
    shutil.copyfile(source, target)


REPLACED: list[Callable[[Path, Path], object]] = [shutil.copyfile, moved, checked_out]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A file of another register, with as many commits and the same requests."""
    file = tmp_path / "other.cache"
    reg = Behind(fk.sample(300, seed=1), "https://other.example").register(cache=file)
    reg.units.get(reg.units.ids(limit=5))
    reg.regions()
    return file


def recording(file: Path) -> tuple[Behind, list[int]]:
    behind = Behind(fk.sample(300))
    reg = behind.register(cache=file)
    ids = reg.units.ids(limit=5)["id"].to_list()
    reg.units.get(ids)
    reg.regions()
    return behind, ids


@pytest.mark.parametrize("replace", REPLACED)
def test_a_file_replaced_while_it_is_open_answers_for_no_other_register(
    file: Path, other: Path, replace: Callable[[Path, Path], object]
) -> None:
    """Neither is anything read from it, nor written to it."""
    behind, ids = recording(file)
    reg = behind.register(cache=file, max_age="1d")
    assert reg.units.get(ids).equals(behind.sample.units.get(ids))
    replace(other, file)
    content = file.read_bytes()

    for work in (lambda: reg.units.get(ids), reg.regions, reg.units.count, reg.cite):
        with contextlib.suppress(fk.UsageError):
            assert work() in (None, reg.cite())
    with pytest.raises(fk.UsageError, match=r"the file is of finstat_kit sample.*seed=1.*not of"):
        reg.units.get(ids)
    assert file.read_bytes() == content


@pytest.mark.parametrize("replace", REPLACED)
def test_a_recording_replaced_while_it_is_replayed_answers_for_no_other_register(
    file: Path, other: Path, replace: Callable[[Path, Path], object]
) -> None:
    _, ids = recording(file)
    replayed = fk.use(f"cache:{file}")
    fk.use(None)
    replayed.units.get(ids)
    replace(other, file)

    for work in (lambda: replayed.units.get(ids), replayed.regions, replayed.cite):
        with pytest.raises(fk.UsageError, match=r"is of finstat_kit sample.*, or open this one"):
            work()


@pytest.mark.parametrize("replace", REPLACED)
def test_a_newer_recording_of_the_same_register_is_replayed(
    file: Path, tmp_path: Path, replace: Callable[[Path, Path], object]
) -> None:
    behind, ids = recording(file)
    replayed = fk.use(f"cache:{file}")
    fk.use(None)
    replayed.units.get(ids)
    behind.sample.delete(ids[1])
    newer = tmp_path / "newer.cache"
    behind.register(cache=newer).units.get(ids)
    replace(newer, file)

    assert replayed.units.get(ids)["stav"].to_list() == [None, "ZMAZANÉ", None, None, None]


def test_a_reply_of_another_register_is_refused_wherever_it_lies(file: Path, other: Path) -> None:
    """As where a journal left by a kill is applied to the file that took the place of the first."""
    recording(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("ATTACH ? AS other", (str(other),))
        connection.execute("INSERT OR REPLACE INTO replies SELECT * FROM other.replies")
    with fk.using(f"cache:{file}") as replayed:
        with pytest.raises(CacheError, match="is another's"):
            replayed.regions()


def test_each_reply_is_in_the_file_before_the_next_request(file: Path) -> None:
    behind = Behind(fk.sample(300))
    reg = behind.register(cache=file)
    kept: list[int] = []

    class Counting(Behind):
        def _answer(self, method: str, path: str, query: str) -> Reply:
            with closing(sqlite3.connect(file)) as connection:
                kept.extend(connection.execute("SELECT count(*) FROM replies").fetchone())
            return super()._answer(method, path, query)

    ids = reg.units.ids(limit=5)
    Counting(behind.sample).register(cache=file).units.get(ids)

    assert kept == [1, 2, 3, 4, 5]


DAMAGE: dict[str, Callable[[sqlite3.Connection], object]] = {
    "a day that is none": lambda c: c.execute("UPDATE replies SET day = '2026-13-01'"),
    "a day that is a number": lambda c: c.execute("UPDATE replies SET day = 5"),
    "times that are none": lambda c: c.execute("UPDATE replies SET fetched = 'x'"),
    "times beyond all calendars": lambda c: c.execute("UPDATE replies SET fetched = 1e300"),
    "no replies": lambda c: c.execute("DROP TABLE replies"),
    "no register": lambda c: c.execute("DROP TABLE about"),
    "a register that is none": lambda c: c.execute("UPDATE about SET about = NULL"),
    "another's description": lambda c: c.execute(
        "UPDATE about SET about = ?", (zlib.compress(b"[5]"),)
    ),
}


def cache_error(look: Callable[[], object]) -> str | None:
    try:
        look()
    except CacheError as error:
        return str(error)
    return None


@pytest.mark.parametrize("damage", quick(DAMAGE.values()), ids=DAMAGE)
def test_a_damaged_file_is_an_error_with_the_cure(
    file: Path, damage: Callable[[sqlite3.Connection], object]
) -> None:
    """From whatever looks at it."""
    behind, ids = recording(file)
    reg, replayed = behind.register(cache=file), fk.use(f"cache:{file}")
    fk.use(None)
    with closing(sqlite3.connect(file)) as connection, connection:
        damage(connection)

    looks: list[Callable[[], object]] = [
        lambda: reg.cache, lambda: replayed.cache, lambda: replayed.units.get(ids), replayed.cite,
        lambda: fk.use(f"cache:{file}"), lambda: behind.register(cache=file),
    ]  # fmt: skip
    errors = list(filter(None, map(cache_error, looks)))
    assert errors
    for error in errors:
        assert "remove it and record it again" in error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no database" * 100, "cannot be used"),
        (b"", "holds no replies"),
    ],
)
def test_other_files_are_refused(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(CacheError, match=message):
        fk.use(f"cache:{file}")
    if content:
        with pytest.raises(CacheError, match=message):
            fk.use(fk.LIVE, cache=file)
        assert file.read_bytes() == content


def test_databases_of_others_are_refused_unchanged(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE mine (a)")
    before = file.read_bytes()
    with pytest.raises(CacheError, match=r"no cache file of this version .*; update"):
        fk.use(fk.LIVE, cache=file)
    with pytest.raises(CacheError, match=r"no cache file of this version .*; update"):
        fk.use(f"cache:{file}")
    assert file.read_bytes() == before


def test_another_format_is_refused(recorded: Path, file: Path) -> None:
    shutil.copyfile(recorded, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(CacheError, match="no cache file of this version"):
        fk.use("sample", cache=file)


def test_a_file_that_cannot_be_written_is_replayed(recorded: Path, file: Path) -> None:
    shutil.copyfile(recorded, file)
    file.chmod(0o444)
    before = file.read_bytes()
    with fk.using(f"cache:{file}") as replayed:
        assert replayed.units.get(210).height == 1
    assert file.read_bytes() == before
    assert [other.name for other in file.parent.iterdir()] == [file.name]
