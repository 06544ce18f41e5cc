from . import (
    downloads as downloads,
    estimate as estimate,
    financials as financials,
    reference as reference,
    reports as reports,
)
