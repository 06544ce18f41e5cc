"""What completion shows on a register: the interface and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static, signature
from types import FunctionType

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from tests.support.examples import quick

REGISTER = [
    # Its data.
    "units", "statements", "reports", "annual_reports",
    "regions", "districts", "municipalities", "codelist", "locations",
    "match_places", "match_units",
    "panel",
    "template",
    # What it reads out of reports.
    "as_filed",
    # What it finds of units.
    "filings", "financials", "statement",
    # What it makes of a frame.
    "resolve_labels", "unresolved_codes", "count_by",
    # What it estimates from a sample.
    "estimate",
    # What it is.
    "base_url", "page_size", "connections", "rate", "cache", "lang", "today", "invented",
    "stats", "cite", "close",
]  # fmt: skip
SAMPLE = [
    *REGISTER, "serve", "publish", "touch", "delete", "hide", "vanish", "set_today",
    "file", "correct", "cases",
]  # fmt: skip


def shown(register: fk.Register) -> list[str]:
    return [name for name in dir(register) if not name.startswith("_")]


def test_a_register_has_these_names() -> None:
    """Behind a URL."""
    with fk.Register("http://127.0.0.1:1") as register:
        assert shown(register) == sorted(REGISTER)


def test_a_sample_has_these_names_and_its_verbs() -> None:
    """The same, and the verbs that change it."""
    assert shown(fk.sample()) == sorted(SAMPLE)


METHODS = [name for name in SAMPLE if isinstance(getattr_static(Sample, name, None), FunctionType)]


@pytest.mark.parametrize("name", quick([name for name in METHODS if name != "publish"]))
def test_a_call_that_does_not_fit_names_the_function_and_its_arguments(name: str) -> None:
    """And no class that the caller has not written."""
    call = getattr(fk.sample(5), name)
    for options in ({"misfit": 1}, {"misfit": 1, "lang": "en"}):
        with pytest.raises(fk.UsageError, match=rf"^{name}\(\): .*; it takes \["):
            call(**options)


CALLABLES = [
    name for name in dir(fk)
    if callable(thing := getattr(fk, name))
    and not (isinstance(thing, type) and issubclass(thing, BaseException))
]  # fmt: skip


def test_every_public_function_and_class_says_which_arguments_it_has() -> None:
    """With a register or without one that is needed for it; of a class by its name."""
    assert {"Explorer", "Mirror", "Register", "StatementViewer", "doctor", "use"} <= {*CALLABLES}
    with fk.using(fk.sample(5)):
        for name in CALLABLES:
            with pytest.raises(fk.UsageError) as caught:
                getattr(fk, name)(misfit=1)
            takes = [p for p in signature(getattr(fk, name)).parameters if p != "self"]
            assert str(caught.value).startswith(f"{name}(): ")
            assert str(caught.value).endswith(f"; it takes {takes}")
            with pytest.raises(TypeError):
                getattr(fk, name)(misfit=1)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fk.Explorer(changed_since="2026-06-01"),  # type: ignore[call-arg]
         r"^Explorer\(\): got .* argument 'changed_since'; it takes \['units', "),
        (lambda: fk.Register(url="https://x.example"),  # type: ignore[call-arg]
         r"^Register\(\): missing a required argument: .*; it takes \['base_url', "),
        (lambda: fk.use(), r"^use\(\): missing a required argument: 'register'; it takes "),  # type: ignore[call-overload]
        (lambda: fk.Mirror(folder="x"),  # type: ignore[call-arg]
         r"^Mirror\(\): missing a required argument: .*; it takes \['path', "),
        (lambda: fk.LocationPicker(register=fk.sample(5)).filter(rows=1),  # type: ignore[call-arg]
         r"^filter\(\): missing a required argument: .*; it takes \['frame'\]"),
    ],
)  # fmt: skip
def test_a_class_that_is_called_in_a_wrong_way_says_what_it_takes(
    call: Callable[[], object], says: str
) -> None:
    """Not what its method is called within."""
    with pytest.raises(fk.UsageError, match=says):
        call()


def test_arguments_in_excess_and_absent_ones_are_named() -> None:
    """By position, where names are needed, and where there is no place for more."""
    with pytest.raises(fk.UsageError, match=r"^cite\(\): too many .*\['lang'\]"):
        fk.sample(5).cite("en")  # type: ignore[call-arg]
    with pytest.raises(fk.UsageError, match=r"^match_places\(\): missing .* 'names'; it takes"):
        fk.sample(5).match_places()  # type: ignore[call-arg]
    with pytest.raises(fk.UsageError, match=r"^as_filed\(\): too many .*'lang'"):
        fk.sample(5).as_filed(pl.DataFrame(), 3)  # type: ignore[call-arg, arg-type]
    with pytest.raises(fk.UsageError, match=r"^ratios\(\): too many .* \['frame', 'keep'\]"):
        fk.ratios(pl.DataFrame(), "roe")  # type: ignore[call-overload]


def test_what_is_no_boolean_is_refused() -> None:
    """A text would count as True, also "no"."""
    reg = fk.sample(1_000)
    owners = (reg, reg.units, reg.reports)
    methods = [getattr(owner, name) for owner in owners for name in dir(owner) if name[0] != "_"]
    methods += [fk.sample, fk.ratios]
    switches = [
        (method, name, parameter.annotation)
        for method in methods
        if callable(method)
        for name, parameter in signature(method).parameters.items()
        if parameter.annotation in ("bool", "bool | None")
    ]
    assert {"financials", "get", "codelist"} <= {method.__name__ for method, _, _ in switches}
    for method, name, annotation in switches:
        needed = [p for p in signature(method).parameters.values() if p.default is p.empty]
        arguments = [365 for parameter in needed if parameter.kind != parameter.VAR_POSITIONAL]
        for wrong in ("no", 1, None)[: 2 if "None" in annotation else 3]:
            with pytest.raises(
                fk.UsageError, match=f"^{name}={wrong!r} is not a boolean; give True"
            ):
                method(*arguments, **{name: wrong})


@pytest.mark.parametrize(
    ("owner", "name", "says"),
    [
        (lambda: fk, "financial", "fk has no financial: did you mean 'financials'?"),
        (lambda: fk, "Explorr", "fk has no Explorr: did you mean 'Explorer'?"),
        (lambda: fk.units, "idss", "fk.units has no idss: did you mean 'ids'?"),
        (lambda: fk.sample(5), "financial", "Sample has no financial: did you mean 'financials'?"),
        (lambda: fk.sample(5).units, "gett", "Units has no gett: did you mean 'get'?"),
        (lambda: fk, "nothing_like_it", "fk has no nothing_like_it"),
        (lambda: fk, "_finance", "fk has no _finance"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_near_one(
    owner: Callable[[], object], name: str, says: str
) -> None:
    """In the error itself: a notebook adds no suggestion."""
    with pytest.raises(AttributeError) as caught:
        getattr(owner(), name)

    assert str(caught.value) == says
