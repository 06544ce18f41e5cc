"""What is passed by mistake: any value for any argument is taken or refused as a usage error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

import finstat_kit as fk

REGISTER: Final = fk.sample(300)
UNITS: Final = REGISTER.units.get(REGISTER.units.ids(limit=40))
ID: Final = int(UNITS["id"][3])
REPORTS: Final = REGISTER.reports.get(REGISTER.reports.ids(limit=10))
MONEY: Final = REGISTER.financials(UNITS, [2014, 2015])
ATTACHED: Final = fk.attachments(REPORTS).head(1)
# Each has no truth value, no order, no text, no length, or another fault.
VALUES: Final[tuple[object, ...]] = (
    1.5, 2**70, b"x", "", "\ud800", "a\0b", [], [None], [[1]], {"a": 1}, object(),
    np.array([1, 2]), pl.Series([1]), pl.Series(["a", None]), pl.DataFrame({"id": ["x"]}),
    pl.DataFrame({"id": [1]}).lazy(), pl.col("id"), pd.DataFrame({"id": [1]}), Exception, ...,
)  # fmt: skip


@pytest.fixture(autouse=True)
def chosen() -> Iterator[None]:
    with fk.using(REGISTER):
        yield
    plt.close("all")


def calls(folder: Path) -> dict[str, tuple[Callable[..., object], dict[str, Any]]]:
    """Return each function with arguments that it takes."""
    history = MONEY.filter(unit_id=MONEY["unit_id"][0])
    given: dict[str, dict[str, Any]] = {
        "resolve_labels": {"frame": UNITS},
        "unresolved_codes": {"frame": UNITS},
        "match_places": {"names": ["Senec"], "level": "municipality"},
        "count_by": {"frame": UNITS},
        "compare": {"a": UNITS.head(20), "b": UNITS.tail(20)},
        "estimate": {"by": "kraj", "minutes": 0.01},
        "plot_counts": {"frame": UNITS},
        "plot_map": {"frame": UNITS},
        "plot_last_changes": {"units": UNITS},
        "plot_spread": {"frame": fk.ratios(MONEY), "value": "roa"},
        "plot_history": {"frame": history, "value": "sales"},
        "filings": {"units": UNITS.head(2), "year": 2015},
        "financials": {"units": UNITS.head(2), "year": 2015},
        "statement_history": {"unit": ID},
        "cells": {"reports": REPORTS},
        "items": {"frame": fk.cells(REPORTS)},
        "as_filed": {"report": REPORTS.head(1)},
        "check_reports": {"reports": REPORTS},
        "attachments": {"reports": REPORTS},
        "download": {"attachments": ATTACHED, "folder": folder / "pdf"},
        "ratios": {"frame": MONEY},
        "summary": {"figures": MONEY, "value": "sales"},
        "panel": {"figures": MONEY},
        "growth": {"panel": fk.panel(MONEY)[0], "value": "sales"},
        "peers": {"figures": MONEY, "unit": int(history["unit_id"][0]), "value": "total_assets"},
        "template": {"template": 699},
        "templates": {},
        "codelist": {"name": "legal_forms"},
        "codelists": {},
        "regions": {},
        "locations": {"text": "zilina"},
        "write": {"frame": UNITS.head(3), "path": folder / "units.csv"},
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
        "StatementViewer": {"units": UNITS.head(2)},
    }
    functions: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
        name: (getattr(fk, name), options) for name, options in given.items()
    }
    for owner, ids in ((fk.units, UNITS["id"]), (fk.reports, REPORTS["id"])):
        functions[f"{owner!r}.get"] = (owner.get, {"ids": ids.head(2)})
        for name in ("count", "ids", "pages", "scan"):
            functions[f"{owner!r}.{name}"] = (getattr(owner, name), {})
    functions["find"] = (fk.units.find, {"text": "orol"})
    mirror = fk.Mirror(folder / "synced", register=fk.sample(20))
    mirror.sync()
    of_mirror: dict[str, dict[str, Any]] = {
        "sync": {}, "snapshot": {}, "as_of": {"day": "2026-06-30"}, "changes": {}, "compact": {},
        "extract": {"path": folder / "extract", "ids": mirror.units.ids(limit=1)},
    }  # fmt: skip
    functions |= {f"mirror.{name}": (getattr(mirror, name), of) for name, of in of_mirror.items()}
    return functions


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what is taken may be worth a warning
@pytest.mark.parametrize("part", range(4))
def test_any_value_is_taken_or_refused_as_a_usage_error(part: int, tmp_path: Path) -> None:
    """No error of a library, of a comparison or of a system call reaches the caller."""
    for name, (function, options) in list(calls(tmp_path).items())[part::4]:
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
