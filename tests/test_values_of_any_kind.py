"""What is passed by mistake: any value for any argument is taken or refused as a usage error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

import finstat_kit as fk

REGISTER: Final = fk.sample(300)
# Each has no truth value, no order, no text, no length, or another fault.
VALUES: Final[tuple[object, ...]] = (
    1.5, 2**70, b"x", "\ud800", "a\0b", [None], {"a": 1}, object(), np.array([1, 2]),
    pl.Series(["a", None]), pl.DataFrame({"id": ["x"]}), pl.col("id"), pd.DataFrame({"id": [1]}),
)  # fmt: skip


@pytest.fixture(autouse=True)
def chosen() -> Iterator[None]:
    with fk.using(REGISTER):
        yield
    plt.close("all")


def calls(folder: Path) -> dict[str, tuple[Callable[..., object], dict[str, Any]]]:
    """Return each function with arguments that it takes."""
    units = REGISTER.units.get(REGISTER.units.ids(limit=40))
    reports = REGISTER.reports.get(REGISTER.reports.ids(limit=10))
    money = REGISTER.financials(units, [2014, 2015])
    history = money.filter(unit_id=money["unit_id"][0])
    given: dict[str, dict[str, Any]] = {
        "resolve_labels": {"frame": units},
        "unresolved_codes": {"frame": units},
        "match_places": {"names": ["Senec"], "level": "municipality"},
        "match_units": {"frame": units.head(3), "ico": "ico", "name": "nazovUJ"},
        "count_by": {"frame": units},
        "estimate": {"by": "kraj", "n": 5},
        "plot_counts": {"frame": units},
        "plot_map": {"frame": units},
        "plot_spread": {"frame": fk.ratios(money), "value": "roa"},
        "plot_history": {"frame": history, "value": "sales"},
        "unit_page": {"unit": int(history["unit_id"][0])},
        "filings": {"units": units.head(2), "year": 2015},
        "financials": {"units": units.head(2), "year": 2015},
        "statement": {"unit": int(units["id"][3])},
        "reports.cells": {"reports": reports},
        "items": {"text": "debt"},
        "as_filed": {"report": reports.head(1)},
        "reports.check": {"reports": reports},
        "reports.files": {"reports": reports},
        "reports.download": {"files": fk.reports.files(reports).head(1), "folder": folder / "pdf"},
        "ratios": {"frame": money},
        "summary": {"figures": money, "value": "sales"},
        "panel": {"figures": money},
        "growth": {"panel": fk.panel(money)[0], "value": "sales"},
        "peers": {"figures": money, "unit": int(history["unit_id"][0]), "value": "total_assets"},
        "template": {"template": 699},
        "codelist": {"name": "legal_forms"},
        "regions": {},
        "locations": {"text": "zilina"},
        "write": {"frame": units.head(3), "path": folder / "units.csv"},
        "fields": {"collection": "units"},
        "cite": {},
        "doctor": {},
        "sample": {"units": 20},
        "use": {"register": REGISTER},
        "Register": {"base_url": "https://register.example"},
        "Mirror": {"path": folder / "mirror"},
        "LocationPicker": {},
        "ChangePicker": {},
        "Explorer": {},
        "StatementViewer": {"units": units.head(2)},
    }
    functions: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
        name: (attrgetter(name)(fk), options) for name, options in given.items()
    }
    for owner, ids in ((fk.units, units["id"]), (fk.reports, reports["id"])):
        functions[f"{owner!r}.get"] = (owner.get, {"ids": ids.head(2)})
        for name in ("count", "ids", "pages", "scan"):
            functions[f"{owner!r}.{name}"] = (getattr(owner, name), {})
    functions["find"] = (fk.units.find, {"text": "orol"})
    towns = REGISTER.units.get(REGISTER.units.ids(legal_form_code="801"))
    functions["town"] = (fk.units.town, {"places": towns["sidlo"][0]})
    mirror = fk.Mirror(folder / "synced", register=fk.sample(20))
    mirror.sync()
    of_mirror: dict[str, dict[str, Any]] = {
        "sync": {}, "snapshot": {}, "as_of": {"day": "2026-06-30"}, "changes": {},
        "extract": {"path": folder / "extract", "ids": mirror.units.ids(limit=1)},
    }  # fmt: skip
    functions |= {f"mirror.{name}": (getattr(mirror, name), of) for name, of in of_mirror.items()}
    return functions


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what is taken may be worth a warning
@pytest.mark.parametrize("part", range(2))
def test_any_value_is_taken_or_refused_as_a_usage_error(part: int, tmp_path: Path) -> None:
    """No error of a library, of a comparison or of a system call reaches the caller."""
    for name, (function, options) in list(calls(tmp_path).items())[part::2]:
        function(**options)
        for argument in signature(function).parameters:
            for value in VALUES:
                try_one(name, partial(function, **{**options, argument: value}), argument, value)


def try_one(name: str, call: Callable[[], object], argument: str, value: object) -> None:
    try:
        with suppress(fk.RegisterError):
            result = call()
            if isinstance(result, pl.LazyFrame):
                result.head(1).collect()
    except Exception as error:
        error.add_note(f"{type(value).__name__} for {argument} of {name}")
        raise
    finally:
        plt.close("all")
