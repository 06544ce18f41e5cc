"""What completion shows on a register: the interface and nothing else."""

from __future__ import annotations

import finstat_kit as fk

REGISTER = [
    # Its data.
    "units", "statements", "reports", "annual_reports",
    "regions", "districts", "municipalities", "legal_forms", "activities", "ownership_types",
    "size_classes", "codelists", "locations", "find_places", "match_places",
    "templates", "template", "template_columns",
    # What it reads out of reports.
    "cells", "reports_without_cells", "check_reports", "as_filed", "download",
    # What it finds of units.
    "filings", "plan", "items", "financials",
    # What it makes of a frame.
    "resolve_labels", "unresolved_codes", "count_by", "count_last_changes", "compare",
    # What it estimates from a sample.
    "estimate",
    # What is drawn, reported and picked of it.
    "plot_counts", "plot_map", "plot_last_changes", "plot_spread", "plot_history", "doctor",
    "LocationPicker", "ChangePicker", "Explorer", "StatementViewer", "Mirror",
    # What it is.
    "base_url", "page_size", "connections", "rate", "cache", "lang", "today", "since", "invented",
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
