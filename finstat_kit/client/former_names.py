"""Former names of the interface, and the error that gives the present one.

Imports nothing at run time: it is loaded with the package itself.
"""

from __future__ import annotations

from typing import Final

_FORMER: Final = {
    **{
        name: f'codelist("{name}")'
        for name in ("legal_forms", "activities", "ownership_types", "size_classes")
    },
    "find_places": "locations(text)",
    "count_last_changes": 'count_by(units, by, last_change="month")',
    "plan": "financials(units, year, dry_run=True)",
    "reports_without_cells": 'check_reports(reports)["reasons"]',
    "template_columns": 'template(id, part="columns")',
    **{
        name: f"errors.{name}"
        for name in (
            "BadRequest", "CacheError", "MirrorError", "PagingError", "ProtocolError",
            "RateLimited", "RegisterUnavailable", "TransportError",
        )
    },
}  # fmt: skip


def former_name(name: str, fault: str) -> AttributeError:
    """Return the error for an unknown name; for a former name it gives the new one."""
    if name in _FORMER:
        fault += f"; it is {_FORMER[name]} now"
    return AttributeError(fault)
