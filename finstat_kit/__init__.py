"""Slovakia's Register of Financial Statements as polars DataFrames.

Choose a register, then ask it:

    >>> import finstat_kit as fk
    >>> with fk.using(fk.sample()):
    ...     fk.units.count()
    20000

Each name is loaded on its first use, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finstat_kit.charts.bars import plot_counts
    from finstat_kit.charts.last_changes import plot_last_changes
    from finstat_kit.charts.tile_map import plot_map
    from finstat_kit.client.collection import Collection
    from finstat_kit.client.current import (
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
        using,
    )
    from finstat_kit.client.pages import Pages
    from finstat_kit.client.register import LIVE, Register
    from finstat_kit.client.sample import Sample, sample
    from finstat_kit.client.units import Units
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
    from finstat_kit.frames.writing import write
    from finstat_kit.health.report import doctor
    from finstat_kit.mirror.mirror import Mirror
    from finstat_kit.widgets.change import ChangePicker
    from finstat_kit.widgets.explorer import Explorer
    from finstat_kit.widgets.location import LocationPicker

_HOMES = {
    "charts.bars": "plot_counts",
    "charts.last_changes": "plot_last_changes",
    "charts.tile_map": "plot_map",
    "client.collection": "Collection",
    "client.current": (
        "activities annual_reports cite codelists count_by count_last_changes districts "
        "find_places legal_forms locations municipalities ownership_types regions "
        "register reports resolve_labels size_classes statements units unresolved_codes "
        "use using"
    ),
    "client.pages": "Pages",
    "client.register": "LIVE Register",
    "client.sample": "Sample sample",
    "client.units": "Units",
    "errors": (
        "BadRequest Interrupted MirrorError NotFound PagingError ProtocolError "
        "RateLimited RegisterError RegisterUnavailable TransportError UsageError"
    ),
    "frames.writing": "write",
    "health.report": "doctor",
    "mirror.mirror": "Mirror",
    "widgets.change": "ChangePicker",
    "widgets.explorer": "Explorer",
    "widgets.location": "LocationPicker",
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
    "using",
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
