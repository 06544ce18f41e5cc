from . import (
    codelists as codelists,
    contents as contents,
    downloads as downloads,
    estimate as estimate,
    filings as filings,
    financials as financials,
)
