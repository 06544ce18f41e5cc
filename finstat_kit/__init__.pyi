# The one list of public names: those that type checkers see, and those that are loaded lazily.

from .charts.bars import plot_counts as plot_counts
from .charts.last_changes import plot_last_changes as plot_last_changes
from .charts.tile_map import plot_map as plot_map
from .client.collection import Collection as Collection
from .client.current import (
    activities as activities,
)
from .client.current import (
    annual_reports as annual_reports,
)
from .client.current import (
    cite as cite,
)
from .client.current import (
    codelists as codelists,
)
from .client.current import (
    count_by as count_by,
)
from .client.current import (
    count_last_changes as count_last_changes,
)
from .client.current import (
    districts as districts,
)
from .client.current import (
    find_places as find_places,
)
from .client.current import (
    legal_forms as legal_forms,
)
from .client.current import (
    locations as locations,
)
from .client.current import (
    municipalities as municipalities,
)
from .client.current import (
    ownership_types as ownership_types,
)
from .client.current import (
    regions as regions,
)
from .client.current import (
    register as register,
)
from .client.current import (
    reports as reports,
)
from .client.current import (
    resolve_labels as resolve_labels,
)
from .client.current import (
    size_classes as size_classes,
)
from .client.current import (
    statements as statements,
)
from .client.current import (
    units as units,
)
from .client.current import (
    unresolved_codes as unresolved_codes,
)
from .client.current import (
    use as use,
)
from .client.current import (
    using as using,
)
from .client.pages import Pages as Pages
from .client.register import LIVE as LIVE
from .client.register import Register as Register
from .client.sample import Sample as Sample
from .client.sample import sample as sample
from .client.units import Units as Units
from .errors import (
    BadRequest as BadRequest,
)
from .errors import (
    Interrupted as Interrupted,
)
from .errors import (
    MirrorError as MirrorError,
)
from .errors import (
    NotFound as NotFound,
)
from .errors import (
    PagingError as PagingError,
)
from .errors import (
    ProtocolError as ProtocolError,
)
from .errors import (
    RateLimited as RateLimited,
)
from .errors import (
    RegisterError as RegisterError,
)
from .errors import (
    RegisterUnavailable as RegisterUnavailable,
)
from .errors import (
    TransportError as TransportError,
)
from .errors import (
    UsageError as UsageError,
)
from .frames.writing import write as write
from .health.report import doctor as doctor
from .mirror.mirror import Mirror as Mirror
from .widgets.change import ChangePicker as ChangePicker
from .widgets.explorer import Explorer as Explorer
from .widgets.location import LocationPicker as LocationPicker
