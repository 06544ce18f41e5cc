"""The difficulties of filings: those that are drawn, and those that are only filed by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_NOTHING: Final[Mapping[str, object]] = {}


class Case(NamedTuple):
    """A difficulty of a filing, which its name identifies.

    Attributes:
        share: Filings per thousand that are drawn with it.
        statement: Fields of the statement that it replaces; None leaves them out.
        report: Fields of the reports that it replaces.
        title: Fields of the title page of the reports that it replaces.
    """

    share: int = 0
    statement: Mapping[str, object] = _NOTHING
    report: Mapping[str, object] = _NOTHING
    title: Mapping[str, object] = _NOTHING


def _of_kind(kind: str, share: int = 0) -> Case:
    return Case(share, statement={"typ": kind}, title={"typZavierky": kind})


def _of_fund(name: str) -> Case:
    return Case(statement={"nazovFondu": name}, title={"nazovSpravcovskehoFondu": name})


def _flagged(flag: str) -> Case:
    return Case(statement={flag: True}, title={flag: True})


# Those with a share come first, in the order in which they are dealt out. A case without fields is
# drawn where its name is looked up: in the period, the reports, their content or their cells.
CASES: Final = {
    "sum": Case(20),
    "all_blank": Case(5),
    "previous_only": Case(5),
    "empty_content": Case(5),
    "no_content": Case(5),
    "attachments_only": Case(10, report={"idSablony": None}),
    "title_only": Case(5),
    "text_truths": Case(10),
    "deleted": Case(5),
    "non_public_record": Case(2),
    "non_public": Case(5),
    "public_attachments": Case(10),
    "restated": Case(50),
    "interim": _of_kind("Priebežná", 5),
    "combined": _of_kind("Kombinovaná", 3),
    "unknown_kind": _of_kind("Vymyslená", 2),
    "no_period": Case(5, statement={"obdobieDo": None}, title={"obdobieDo": None}),
    "no_kind": Case(5, statement={"typ": None}),
    "extraordinary": _of_kind("Mimoriadna"),
    "no_kind_anywhere": Case(statement={"typ": None}, title={"typZavierky": None}),
    "no_kind_short": Case(statement={"typ": None}, title={"typZavierky": None}),
    "short_period": Case(),
    "year_9999": Case(),
    "consolidated": _flagged("konsolidovana"),
    "central_government": _flagged("konsolidovanaZavierkaUstrednejStatnejSpravy"),
    "summary": _flagged("suhrnnaUctovnaZavierkaVerejnejSpravy"),
    "fund": _of_fund("Vymyslený fond"),
    "other_fund": _of_fund("Iný vymyslený fond"),
    "not_own_statement": Case(),
    "not_own_report": Case(),
    "two_of_one_form": Case(),
    "half": Case(),
    "unknown_template": Case(report={"idSablony": 9_999}),
    "other_currency": Case(report={"mena": "USD"}),
    "not_a_number": Case(),
    "unreadable": Case(statement={"datumPodania": "včera"}),
    "unreadable_report": Case(report={"mena": 978}),
}  # fmt: skip
NO_CASE: Final = Case()


def drawn_case(key: int) -> str | None:
    """Return the difficulty that is drawn for a filing, None for none."""
    number = (key >> 40) % 1000
    for name, case in CASES.items():
        if number < case.share:
            return name
        number -= case.share
    return None
