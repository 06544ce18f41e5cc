from . import (
    downloads as downloads,
    estimate as estimate,
    financials as financials,
    find as find,
    match_units as match_units,
    reference as reference,
    reports as reports,
)
