# The one list of public names: those that type checkers see, and those that are loaded lazily.

from . import errors as errors
from .charts.plot_counts import plot_counts as plot_counts
from .charts.plot_history import plot_history as plot_history
from .charts.plot_map import plot_map as plot_map
from .charts.plot_spread import plot_spread as plot_spread
from .charts.unit_page import unit_page as unit_page
from .client.current import (
    annual_reports as annual_reports,
    as_filed as as_filed,
    cite as cite,
    codelist as codelist,
    count_by as count_by,
    districts as districts,
    estimate as estimate,
    filings as filings,
    financials as financials,
    locations as locations,
    match_places as match_places,
    match_units as match_units,
    municipalities as municipalities,
    panel as panel,
    regions as regions,
    register as register,
    reports as reports,
    resolve_labels as resolve_labels,
    statement as statement,
    statements as statements,
    template as template,
    units as units,
    unresolved_codes as unresolved_codes,
    use as use,
    using as using,
)
from .client.register import LIVE as LIVE, Register as Register
from .client.sample import sample as sample
from .client.summary import summary as summary
from .errors import RegisterError as RegisterError, UsageError as UsageError
from .frames.codebook.fields import fields as fields
from .frames.files.write import write as write
from .frames.financials.items import items as items
from .frames.financials.ratios import ratios as ratios
from .frames.findings.growth import growth as growth
from .frames.findings.peers import peers as peers
from .health.report import doctor as doctor
from .mirror.mirror import Mirror as Mirror
from .widgets.change_picker import ChangePicker as ChangePicker
from .widgets.explorer import Explorer as Explorer
from .widgets.location_picker import LocationPicker as LocationPicker
from .widgets.statement_viewer import StatementViewer as StatementViewer

__version__: str
