"""Slovakia's Register of Financial Statements as polars DataFrames.

Choose a register, then ask it:

    >>> import finstat_kit as fk
    >>> with fk.use(fk.sample()):
    ...     fk.units.count()
    20000

Each name is loaded on its first use, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finstat_kit.charts import plot_counts
    from finstat_kit.collection import Collection
    from finstat_kit.default import (
        activities,
        annual_reports,
        cite,
        codelists,
        count_by,
        count_last_changes,
        districts,
        find_places,
        legal_forms,
        locations,
        municipalities,
        ownership_types,
        regions,
        register,
        reports,
        resolve_labels,
        size_classes,
        statements,
        units,
        unresolved_codes,
        use,
    )
    from finstat_kit.errors import (
        BadRequest,
        Interrupted,
        MirrorError,
        NotFound,
        PagingError,
        ProtocolError,
        RateLimited,
        RegisterError,
        RegisterUnavailable,
        TransportError,
        UsageError,
    )
    from finstat_kit.health import doctor
    from finstat_kit.mirror.local import Mirror
    from finstat_kit.pages import Pages
    from finstat_kit.registers import LIVE, Register
    from finstat_kit.samples import Sample, sample
    from finstat_kit.stacks import plot_last_changes
    from finstat_kit.tilemaps import plot_map
    from finstat_kit.unit_collection import Units
    from finstat_kit.widgets.change import ChangePicker
    from finstat_kit.widgets.explorer import Explorer
    from finstat_kit.widgets.location import LocationPicker
    from finstat_kit.writing import write

_HOMES = {
    "charts": "plot_counts",
    "collection": "Collection",
    "health": "doctor",
    "mirror.local": "Mirror",
    "pages": "Pages",
    "default": (
        "activities annual_reports cite codelists count_by count_last_changes districts "
        "find_places legal_forms locations municipalities ownership_types regions register "
        "reports resolve_labels size_classes statements units unresolved_codes use"
    ),
    "errors": (
        "BadRequest Interrupted MirrorError NotFound PagingError ProtocolError RateLimited "
        "RegisterError RegisterUnavailable TransportError UsageError"
    ),
    "registers": "LIVE Register",
    "samples": "Sample sample",
    "stacks": "plot_last_changes",
    "tilemaps": "plot_map",
    "unit_collection": "Units",
    "widgets.change": "ChangePicker",
    "widgets.explorer": "Explorer",
    "widgets.location": "LocationPicker",
    "writing": "write",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "LIVE",
    "BadRequest",
    "ChangePicker",
    "Collection",
    "Explorer",
    "Interrupted",
    "LocationPicker",
    "Mirror",
    "MirrorError",
    "NotFound",
    "Pages",
    "PagingError",
    "ProtocolError",
    "RateLimited",
    "Register",
    "RegisterError",
    "RegisterUnavailable",
    "Sample",
    "TransportError",
    "Units",
    "UsageError",
    "activities",
    "annual_reports",
    "cite",
    "codelists",
    "count_by",
    "count_last_changes",
    "districts",
    "doctor",
    "find_places",
    "legal_forms",
    "locations",
    "municipalities",
    "ownership_types",
    "plot_counts",
    "plot_last_changes",
    "plot_map",
    "regions",
    "register",
    "reports",
    "resolve_labels",
    "sample",
    "size_classes",
    "statements",
    "units",
    "unresolved_codes",
    "use",
    "write",
]


if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is found here

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'finstat_kit' has no attribute {name!r}")
        value = getattr(import_module(f"finstat_kit.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
