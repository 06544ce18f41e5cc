from . import (
    codelists as codelists,
    contents as contents,
    downloads as downloads,
    estimate as estimate,
    financials as financials,
)
