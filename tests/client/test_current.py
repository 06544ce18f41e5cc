"""Which register the module-level names ask."""

from __future__ import annotations

import asyncio
import gc
import inspect
import pickle
import re
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit import units
from finstat_kit.client import current
from finstat_kit.client.sample import Sample
from tests.support.memory import new_garbage_only
from tests.support.registers import sample_of

ONE, TWO = (sample_of(dict.fromkeys(range(1, n + 1), date(2024, 1, 1))) for n in (1, 2))


def test_nothing_is_chosen_for_anybody() -> None:
    """Without a choice there is an error with both lines to choose from."""
    with pytest.raises(fk.UsageError, match=r"fk.use\(fk.sample\(\)\)[\s\S]*fk.use\(fk.LIVE\)"):
        fk.units.count()


def test_names_follow_use() -> None:
    """A name imported before `use` asks whoever is current at the call."""
    fk.use(ONE)
    first = units.count()
    fk.use(TWO)

    assert (first, units.count()) == (1, 2)
    assert fk.register() is TWO


def test_using_restores_the_former_register() -> None:
    """Also one inside the other, and after an error."""
    fk.use(ONE)

    with fk.using(TWO) as reg:
        assert reg is TWO
        with pytest.raises(ZeroDivisionError), fk.using(ONE):
            raise ZeroDivisionError
        assert fk.register() is TWO
        with fk.using(TWO):
            pass
        assert fk.register() is TWO

    assert fk.register() is ONE


def test_blocks_that_overlap_may_end_in_any_order() -> None:
    """The later one stays current to its end, then the one before both."""
    fk.use(ONE)
    first, second = fk.using(TWO), fk.using(sample_of({}))

    first.__enter__()
    inner = second.__enter__()
    first.__exit__(None, None, None)
    between = fk.register()
    second.__exit__(None, None, None)

    assert between is inner
    assert fk.register() is ONE


@contextmanager
def block_elsewhere(register: fk.Register) -> Iterator[None]:
    """Keep a block of a register open on another thread."""
    entered, over = threading.Event(), threading.Event()

    def hold() -> None:
        with fk.using(register):
            entered.set()
            over.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(10)
    try:
        yield
    finally:
        over.set()
        thread.join()


def answer_of_thread() -> int:
    """Return the number of units in the register that a new thread uses."""
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(fk.units.count()))
    thread.start()
    thread.join()
    return counts[0]


def test_a_block_holds_for_its_own_thread() -> None:
    """Every other thread uses what `use` set."""
    fk.use(sample_of({}))

    with block_elsewhere(TWO):
        assert fk.units.count() == answer_of_thread() == 0
        with fk.using(ONE):
            assert fk.units.count() == 1
            assert answer_of_thread() == 0
    assert fk.units.count() == answer_of_thread() == 0


def test_a_thread_without_a_block_may_have_no_register() -> None:
    """Nothing was set with `use`: the usual error, with the lines to choose from."""
    with fk.using(ONE), ThreadPoolExecutor(1) as pool:
        assert pool.submit(copy_context().run, fk.units.count).result() == 1
        with pytest.raises(fk.UsageError, match=r"no register is chosen; choose one first:"):
            pool.submit(fk.units.count).result()


class CountsOther(httpx.BaseTransport):
    """A transport whose replies come from the register that is current in its thread."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = {"id": int(request.url.params["id"]), "nazovUJ": str(fk.units.count())}
        return httpx.Response(200, json=body)


def test_threads_that_a_call_starts_have_the_block_of_their_caller() -> None:
    """Such as the connections of `get`."""
    asked = fk.Register("http://127.0.0.1:9", transport=CountsOther(), connections=3)

    with fk.using(TWO):
        records = asked.units.get([1, 2, 3])

    assert records["nazovUJ"].to_list() == ["2", "2", "2"]


def test_a_block_holds_for_its_asyncio_tasks() -> None:
    """Tasks side by side, each in a block, and tasks and threads that they start and await."""
    fk.use(sample_of({}))

    async def count() -> int:
        return fk.units.count()

    async def in_block(register: fk.Register, entered: asyncio.Event) -> list[int]:
        with fk.using(register):
            await entered.wait()
            return [
                fk.units.count(),
                await asyncio.create_task(count()),
                await asyncio.to_thread(fk.units.count),
            ]

    async def side_by_side() -> list[list[int]]:
        entered = asyncio.Event()
        first = asyncio.create_task(in_block(ONE, entered))
        second = asyncio.create_task(in_block(TWO, entered))
        await asyncio.sleep(0)
        entered.set()
        return [await first, await second]

    assert asyncio.run(side_by_side()) == [[1, 1, 1], [2, 2, 2]]
    assert fk.units.count() == 0


def test_a_task_that_outlives_its_block_uses_what_is_current() -> None:
    """A block that has ended holds for nothing, and `use` does not change it."""
    fk.use(ONE)

    async def outlive() -> tuple[int, int]:
        over = asyncio.Event()

        async def late() -> int:
            await over.wait()
            before = fk.units.count()
            fk.use(TWO)
            return before

        with fk.using(sample_of({})):
            task = asyncio.create_task(late())
            await asyncio.sleep(0)
        over.set()
        return await task, fk.units.count()

    assert asyncio.run(outlive()) == (1, 2)


def test_use_within_a_block_holds_until_its_end() -> None:
    """It changes the own block, never one of another thread; without a block it is global."""
    fk.use(sample_of({}))

    with fk.using(ONE):
        fk.use(TWO)
        assert fk.units.count() == 2
    assert fk.units.count() == 0
    with block_elsewhere(ONE):
        fk.use(TWO)
        assert fk.units.count() == 2
    assert fk.units.count() == answer_of_thread() == 2


class Noted(fk.Register):
    """A register that counts how often it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1
        super().close()


def test_only_the_maker_closes_a_register(monkeypatch: pytest.MonkeyPatch) -> None:
    """`use` closes nothing, `using` what it made itself, ``with reg:`` its register alone."""
    given = Noted("http://127.0.0.1:9")
    fk.use(ONE)

    with fk.using(given):
        pass
    assert given.closed == 0
    monkeypatch.setattr(current, "Register", Noted)
    with fk.using("http://127.0.0.1:9") as made:
        assert isinstance(made, Noted)
        assert made.closed == 0
    assert made.closed == 1

    fk.use(given)
    with given:
        pass
    assert given.closed == 1
    assert fk.register() is given


def test_a_former_register_is_freed() -> None:
    """Nothing keeps what was current before."""
    with new_garbage_only():
        former = weakref.ref(fk.use(fk.sample(10)))
        fk.use(ONE)
        gc.collect()

    assert former() is None


def test_the_language_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `use`, by the register or by FINSTAT_KIT_LANG; an argument wins; Slovak by default."""
    frame = pl.DataFrame({"kraj": ["SK010"]})

    def label(**options: Any) -> str:
        return str(fk.count_by(frame, "kraj", **options)["label"][0])

    fk.use("sample", lang="en")
    assert label() == "Region of Bratislava"
    assert label(lang="sk") == "Bratislavský kraj"
    assert fk.resolve_labels(frame)["region"][0] == "Region of Bratislava"
    assert "Invented" in fk.cite()
    fk.use("sample")
    assert label() == "Bratislavský kraj"
    monkeypatch.setenv("FINSTAT_KIT_LANG", "en")
    with fk.using(fk.sample(10)) as reg:
        assert reg.lang == "en"
        assert label() == "Region of Bratislava"
        reg.lang = "sk"
        assert label() == "Bratislavský kraj"
    assert fk.Register(fk.LIVE, lang="sk").lang == "sk"
    monkeypatch.setenv("FINSTAT_KIT_LANG", "de")
    with pytest.raises(fk.UsageError, match="FINSTAT_KIT_LANG='de'"):
        fk.sample(10)


def test_a_register_that_is_given_speaks_the_language_given_with_it(tmp_path: Path) -> None:
    """From then on with `use`, for its block with `using`; a mirror too, and at their making."""
    mirror = fk.Mirror(tmp_path / "ruz", register=fk.sample(10))
    mirror.sync()

    for reg in (fk.sample(10), mirror, mirror.as_of(mirror.today)):
        with fk.using(reg, lang="en"):
            assert "nvented data" in fk.cite()
        assert "nvented data" not in reg.cite()
        assert fk.use(reg, lang="en") is reg
        fk.use(reg)
        assert "nvented data" in fk.cite()  # as it was left
        with pytest.raises(fk.UsageError, match="lang='de'"):
            fk.use(reg, lang="de")  # type: ignore[call-overload]
    assert fk.sample(10, lang="en").lang == fk.Mirror(mirror.path, lang="en").lang == "en"
    with pytest.raises(fk.UsageError, match="lang='de'"):
        fk.sample(10, lang="de")  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="lang='de'"):
        fk.use("live", lang="de")  # type: ignore[call-overload]
    with pytest.raises(fk.UsageError, match="cache='c': a Register has its own"):
        fk.use(ONE, lang="en", cache="c")
    assert ONE.lang == "sk"


def test_threads_see_the_same_register() -> None:
    """Callbacks of widgets run on other threads and must ask the same register."""
    fk.use(TWO)
    seen: list[int] = []

    thread = threading.Thread(target=lambda: seen.append(fk.units.count()))
    thread.start()
    thread.join()

    assert seen == [2]


def test_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """FINSTAT_KIT_URL is asked when nothing is chosen: sample, live or a URL."""
    monkeypatch.setenv("FINSTAT_KIT_URL", "sample")
    assert isinstance(fk.register(), Sample)

    fk.use(None)
    monkeypatch.setenv("FINSTAT_KIT_URL", "live")
    assert fk.register().base_url == fk.LIVE

    fk.use(None)
    monkeypatch.setenv("FINSTAT_KIT_URL", "http://127.0.0.1:8000/")
    assert fk.register().base_url == "http://127.0.0.1:8000"

    fk.use(ONE)
    assert fk.register() is ONE


@pytest.mark.parametrize("wrong", ["registeruz.sk", 5, "file:///x", "x" * 5_000, "x\0"])
def test_what_is_no_register_is_refused(wrong: object) -> None:
    """A wrong choice names the right ones."""
    with pytest.raises(fk.UsageError, match=r"register=.*give a URL"):
        fk.use(wrong)  # type: ignore[call-overload]


@pytest.mark.parametrize("path", ["x" * 5_000, "x\0", "none"])
def test_a_path_that_cannot_be_is_refused_like_a_missing_one(path: str) -> None:
    """No error of the system's is raised, whatever a path is made of."""
    for name in (f"mirror:{path}", f"cache:{path}"):
        with pytest.raises(fk.RegisterError, match="there is no"):
            fk.use(name)
    with pytest.raises(fk.RegisterError, match="too long"):
        fk.use(fk.LIVE, cache="x" * 5_000)


def test_a_folder_of_a_mirror_is_named(tmp_path: Path) -> None:
    """Its path alone is not a register; the text has the call that makes one of it."""
    fk.Mirror(tmp_path / "ruz", register=fk.sample(10)).sync()

    with pytest.raises(fk.UsageError, match=r"fk.use\('mirror:.*ruz'\)"):
        fk.use(str(tmp_path / "ruz"))
    with pytest.raises(fk.UsageError) as error:
        fk.use(str(tmp_path / "none"))
    assert "mirror:" not in str(error.value)


def _public() -> dict[str, object]:
    """Return everything that is called by a public name, the methods of collections included."""
    names = {name: getattr(fk, name) for name in dir(fk)}
    collections = {
        f"{name}.{method}": getattr(names[name], method)
        for name in ("units", "statements")
        for method in dir(names[name])
        if not method.startswith("_")
    }
    return {name: call for name, call in (names | collections).items() if callable(call)}


@pytest.mark.parametrize("name", sorted(_public()))
def test_signatures_show_plain_types(name: str) -> None:
    """Neither modules nor aliases, but for a TypeVar and those of texts that the docstring has."""
    shown = str(inspect.signature(_public()[name]))  # type: ignore[arg-type]

    known = {
        "AnyFrame", "Axes", "BaseTransport", "DataFrame", "Filed", "Frame",
        "History", "Iterable", "Iterator",
        "LazyFrame", "Literal", "Mapping", "None", "Pages", "Path", "PathLike", "Register",
        "Sample", "Sequence", "Series", "Transport",
        "Activity", "Auto", "By", "CodelistName", "Every", "Grouping", "Lang", "Level",
        "Nace", "Statement",
    }  # fmt: skip
    without_defaults = re.sub(r"= '[^']*'|\bTrue\b|\bFalse\b|\bEllipsis\b", "", shown)
    assert set(re.findall(r"\b[A-Z][A-Za-z]*\b", without_defaults)) <= known
    assert set(re.findall(r"\b[a-z_]+(?=\.[A-Za-z])", without_defaults)) <= {"labels", "pl", "os"}


def test_functions_carry_what_the_method_says_of_itself() -> None:
    """help(), the signature and completion of fk.count_by are those of the method."""
    method = inspect.signature(fk.Register.count_by)
    own = [parameter for name, parameter in method.parameters.items() if name != "self"]

    forwarded = inspect.signature(fk.count_by)
    assert list(forwarded.parameters) == [parameter.name for parameter in own]
    assert [p.default for p in forwarded.parameters.values()] == [p.default for p in own]
    assert fk.count_by.__doc__ == fk.Register.count_by.__doc__
    assert fk.units.count.__doc__ == type(TWO.units).count.__doc__
    assert "accounting units of the register that is current" in (fk.units.__doc__ or "")
    assert "ico" in inspect.signature(fk.units.ids).parameters
    assert "count" in dir(fk.units)


def test_functions_are_pickled_by_their_names() -> None:
    """So that a pool of processes can call them."""
    for function in (fk.count_by, fk.units.get, fk.reports.ids):
        assert pickle.loads(pickle.dumps(function)) == function
    assert pickle.loads(pickle.dumps(fk.units)) is fk.units


def test_a_function_taken_earlier_is_of_the_register_current_at_the_call() -> None:
    """Neither the import nor the access to an attribute settles which register answers."""
    count = fk.units.count
    fk.use(TWO)

    assert count() == 2


def test_a_wrong_choice_of_the_environment_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A register that the environment names is used, or an error that names the variable."""
    monkeypatch.setenv("FINSTAT_KIT_URL", "nonsense")

    with pytest.raises(fk.UsageError, match="FINSTAT_KIT_URL='nonsense'"):
        fk.reports.cells(pl.DataFrame({"id": [1], "idSablony": [687], "tabulky": [[["1"]]]}))
