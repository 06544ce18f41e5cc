"""The viewer of statements without a browser: unit, years, forms and code follow each choice."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.client.sample import Sample
from finstat_kit.errors import BadRequest
from finstat_kit.frames.financials.history import Statement
from finstat_kit.frames.reports.filed import Filed
from finstat_kit.protocol.wire import Reply
from finstat_kit.widgets.html import filing_panel
from finstat_kit.widgets.statement_viewer import StatementViewer
from tests.support.examples import slow
from tests.support.pickers import SAMPLE, WAIT, Counting, wait_for
from tests.support.registers import Watched

CORRECTED, HOLDING, SILENT = 365, 1362, 2130772
UNITS = SAMPLE.units.get([CORRECTED, HOLDING, SILENT])
EARLIER, LATER = 3184376, 3392981  # of CORRECTED, for 2017


def viewer_of(lang: Lang = "en", value: int | None = CORRECTED) -> StatementViewer:
    viewer = fk.StatementViewer(UNITS, register=SAMPLE, lang=lang)
    viewer.value = value
    return viewer


def reports_of(statement: int) -> pl.DataFrame:
    return SAMPLE.reports.get(SAMPLE.statements.get([statement])["idUctovnychVykazov"].explode())


def forms_of(statement: int, lang: Lang, *, filled: bool = True) -> list[str]:
    return [SAMPLE.as_filed(reports_of(statement), lang=lang, filled=filled)._repr_html_()]


def settle() -> None:
    """Wait for the figures of all years, which are fetched after the form."""
    for thread in threading.enumerate():
        if thread.name == "finstat_kit":
            thread.join(WAIT)


def test_a_unit_shows_the_newest_form_that_counts() -> None:
    """Filings, years and reports are those of the register; the form that of `as_filed`."""
    viewer = viewer_of()

    filings = SAMPLE.filings([CORRECTED])
    newest = filings["statement_id"][-1]
    assert viewer.filings is not None
    assert viewer.filings.equals(filings)
    assert viewer.year.value == newest
    assert viewer.fetch().equals(reports_of(newest))
    assert [form for form in forms_of(newest, "en") if form in viewer.panel.value] == (
        forms_of(newest, "en")
    )
    assert viewer.unit.value == str(CORRECTED)
    assert "Skúška Orol 510, s. r. o." in viewer.panel.value
    assert "IČO 00372491 · sample (invented) data" in viewer.panel.value
    reports = viewer.fetch().height
    assert repr(viewer) == (
        f"StatementViewer(value={CORRECTED}, statement={newest}, reports={reports}, lang='en')"
    )


@pytest.mark.slow
def test_years_are_listed_and_marked() -> None:
    """Newest first; what was superseded, and a period of other than 12 months, is said."""
    texts = {code: text.replace("\u00a0", " ") for text, code in viewer_of().year.options}

    assert list(texts.values()) == [
        "2019", "2018", "2017", "2017 · superseded · filed 8 June 2018", "2016", "2015",
        "2014 · 8 months",
    ]  # fmt: skip
    assert texts[EARLIER].startswith("2017 · superseded")
    slovak = viewer_of("sk").year.options[3][0].replace("\u00a0", " ")
    assert slovak == "2017 · nahradená · podaná 8. 6. 2018"


@pytest.mark.parametrize(
    ("case", "word"),
    [("combined", "Combined"), *slow(("unknown_kind", None), ("interim", "Interim"))],
)
def test_kinds_and_days_are_in_the_language(case: str, word: str | None) -> None:
    """In the list of years, the table and the form alike; a kind that nobody knows as filed."""
    register = fk.sample()
    (filed,) = register.file([CORRECTED], year=2025, case=case)["id"]
    kind = register.statements.get([filed])["typ"].item()
    viewer = fk.StatementViewer(register.units.get([CORRECTED]), register=register, lang="en")
    viewer.value = CORRECTED
    viewer.year.value = filed

    shown = viewer.panel.value
    assert [(word or kind) in text for text, id_ in viewer.year.options if id_ == filed] == [True]
    assert shown.count(word or kind) == 2  # among the filings, on the title page
    assert word is None or kind not in shown
    # The name of the sample, "SAMPLE DATA <… today 2026-06-30>", is the same in both languages.
    assert not re.search(r"\d{4}-\d\d-\d\d", re.sub("&lt;.*?&gt;", "", shown))
    assert "31\u00a0December\u00a02025" in shown


def test_the_first_one_shown_counts() -> None:
    """A superseded filing without a day stands last in its year, and is not shown first."""
    filings = SAMPLE.filings([1597]).head(3)

    assert filings["counts"].to_list() == [True, True, False]
    assert filing_panel.first(filings) == filings["statement_id"][1]
    assert filing_panel.first(filings.tail(1)) == filings["statement_id"][2]
    assert filing_panel.first(filings.clear()) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("fund", "2025 · Vymyslený fond"),
        *slow(
            ("central_government", "2025 · consolidated statement of central government"),
            ("summary", "2025 · aggregate statement of public administration"),
        ),
    ],
)
def test_the_units_own_statement_goes_before_those_of_others(case: str, text: str) -> None:
    """The one that `financials` takes is shown first; the other names whose it is."""
    sample = fk.sample(20)
    unit = _living(sample)
    own, other = (_filed(sample, unit, case=each) for each in (None, case))
    viewer = fk.StatementViewer(sample.units.get([unit]), register=sample, lang="en")

    assert viewer.year.value == own
    assert sample.financials([unit], year=2025, progress=False)["statement_id"].to_list() == [own]
    assert viewer.year.options[:2] == ((text, other), ("2025", own))
    viewer.year.value = other
    whose = text.removeprefix("2025 · ")
    assert f"Statement {other} · {whose} · filed " in viewer.panel.value
    assert f">Ordinary · {whose}</td>" in viewer.panel.value


def test_no_two_statements_have_the_same_text() -> None:
    """A statement without a kind is told from an ordinary one by its day, or by its id."""
    sample = fk.sample(20)
    unit = _living(sample)
    days = (None, "2026-06-01", "2026-06-01")
    filed = [_filed(sample, unit, case="no_kind_anywhere" if day else None, on=day) for day in days]
    again = _filed(sample, unit, case="unknown_kind", on="2026-06-01")
    filings = sample.filings([unit], year=2025, progress=False)

    texts = {
        code: text.replace("\u00a0", " ") for text, code in filing_panel.options(filings, "en")
    }

    assert len(set(texts.values())) == len(texts) == 4
    assert texts[filed[0]] == "2025 · filed 30 June 2026"
    assert texts[again].startswith("2025 · Vymyslená")


def test_the_name_of_a_fund_is_escaped() -> None:
    """It was typed by a filer."""
    sample = fk.sample(20)
    unit = _living(sample)
    fund = _filed(sample, unit, case="fund")
    filings = sample.filings([unit], progress=False).with_columns(fund=pl.lit("<img src=x>"))
    shown = filing_panel.Shown("name", "", filings, None, fund, [], "source", "en")

    panel = filing_panel.panel(shown)

    assert "<img" not in panel
    assert panel.count("&lt;img src=x&gt;") == filings.height + 1


def _living(sample: Sample) -> int:
    living = sample.units.scan().filter(pl.col("stav").is_null(), pravnaForma="112")
    return int(living.select("id").collect()["id"][0])


def _filed(sample: Sample, unit: int, *, case: str | None, on: str | None = None) -> int:
    return int(sample.file([unit], year=2025, case=case, on=on)["id"].item())


@pytest.mark.slow
def test_a_superseded_statement_can_be_read_and_says_so() -> None:
    """Its own form is shown, with what took its place; the later one names the earlier."""
    viewer = viewer_of()

    viewer.year.value = EARLIER

    assert viewer.fetch().equals(reports_of(EARLIER))
    assert f"<strong>Superseded by statement {LATER}, filed later.</strong>" in viewer.panel.value
    assert all(form in viewer.panel.value for form in forms_of(EARLIER, "en"))
    assert re.findall(r"<td [^>]*>▸\xa0(\d+)</td>", viewer.panel.value) == ["2017"]
    viewer.year.value = LATER
    assert f"Supersedes statement {EARLIER}, filed earlier." in viewer.panel.value
    assert "<strong>Superseded" not in viewer.panel.value


@pytest.mark.slow
def test_each_action_draws_once() -> None:
    """A choice in the browser, of a year, of rows, of the language: one message each."""
    viewer = viewer_of("sk")
    drawn = Counting(viewer.panel, "value")
    actions = {
        "unit": lambda: viewer.unit.set_state({"value": str(HOLDING)}),
        "value": lambda: setattr(viewer, "value", CORRECTED),
        "year": lambda: setattr(viewer.year, "value", LATER),
        "blanks": lambda: setattr(viewer.blanks, "value", True),
        "lang": lambda: setattr(viewer, "lang", "en"),
        "language": lambda: setattr(viewer.language, "value", "sk"),
    }

    assert {name: drawn.of(action) for name, action in actions.items()} == dict.fromkeys(actions, 1)
    assert viewer.fetch().equals(reports_of(LATER))
    assert all(form in viewer.panel.value for form in forms_of(LATER, "sk", filled=False))
    assert drawn.of(lambda: setattr(viewer, "value", None)) == 1
    assert viewer.panel.value == ""
    assert viewer.filings is viewer.reports is None
    assert viewer.year.options == ()


def test_a_name_and_an_ico_lead_to_the_unit() -> None:
    """Each entry has the name, IČO and town to tell it by, and the IČO to search for."""
    viewer = viewer_of(value=None)

    by_code = {item[0]: item for item in viewer.unit.items}
    assert by_code[str(CORRECTED)] == [
        str(CORRECTED), "Skúška Orol 510, s. r. o.", "00372491 · Zlaté Moravce", "", "", "00372491",
    ]  # fmt: skip
    assert len(by_code) == UNITS.height
    nameless = UNITS.with_columns(nazovUJ=pl.lit(None, pl.String), ico=pl.lit(None, pl.String))
    items = fk.StatementViewer(nameless, register=SAMPLE, lang="en").unit.items
    assert {item[1] for item in items} == {f"unit {unit}" for unit in UNITS["id"]}


def test_a_unit_without_filings_says_why() -> None:
    """No year to choose and the reason in the table, in both languages."""
    viewer = viewer_of(value=SILENT)

    assert viewer.fetch().is_empty()
    assert viewer.year.options == ()
    assert ">no filing</td>" in viewer.panel.value
    viewer.lang = "sk"
    assert ">bez závierky</td>" in viewer.panel.value
    assert f"print(fk.filings([{SILENT}]))" in viewer.code()


@pytest.mark.slow
@pytest.mark.parametrize("blanks", [False, *slow(True)])
def test_code_shows_the_same_forms_in_a_fresh_process(*, blanks: bool) -> None:
    """What is pasted elsewhere prints what `as_filed` gives for the shown reports."""
    viewer = viewer_of("sk")
    viewer.year.value = LATER
    viewer.blanks.value = blanks

    script = viewer.code()
    seen = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    forms = [
        repr(SAMPLE.as_filed(report, lang="sk", filled=not blanks))
        for report in viewer.fetch().iter_slices(1)
    ]
    assert seen.stdout == "".join(f"{form}\n" for form in forms)
    assert f"# statement {LATER} of unit {CORRECTED}" in script
    assert "fk.use(fk.sample())  # a sample: its units are invented" in script
    assert "# No unit is chosen." in viewer_of(value=None).code()


def shown_rows(html: str) -> list[str]:
    """Return the rows of all tables of forms, without their heads."""
    rows: list[str] = re.findall('<tr(?: class="s")?><td>.*?</tr>', html)
    return [row for row in rows if 'scope="row"' in row]


def printed_rows(script: str) -> list[str]:
    """Run code of a viewer, and return the rows of what it prints."""
    printed: list[Filed] = []
    exec(script, {"print": printed.append})
    return [row for form in printed for row in shown_rows(form._repr_html_())]


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "blanks"), [("en", True), *slow(("sk", False))])
def test_code_gives_the_rows_on_the_screen(lang: Lang, blanks: bool) -> None:
    """Of the form and of each table of the years, with and without blank rows."""
    sample = fk.sample(60, seed=4)
    filed = sample.filings(sample.units.ids()).filter("counts", pl.col("report_ids").list.len() > 1)
    viewer = fk.StatementViewer([filed["unit_id"][0]], register=sample, lang=lang)
    viewer.year.value = filed["statement_id"][0]
    viewer.blanks.value = blanks

    assert printed_rows(viewer.code()) == shown_rows(viewer.panel.value) != []
    viewer.tabs.selected_index = 1
    rows = []
    for table in ("income", "balance"):
        viewer.table.value = table
        rows.append(shown_rows(viewer.history.value))
        assert printed_rows(viewer.code()) == rows[-1] != []
    assert rows[0] != rows[1]


@pytest.mark.slow
def test_years_of_the_unit_chosen_before_are_never_shown() -> None:
    """Neither those that arrive late, nor those that were shown, while another unit is read."""
    register = Watched(fk.sample(60, seed=4))
    units = register.units.get(register.units.ids())
    several = (
        units.filter(pl.col("idUctovnychZavierok").list.len() > 3).unique("nazovUJ").sort("id")
    )
    viewer = fk.StatementViewer(several, register=register, lang="en")
    (first, second), (first_name, second_name) = several["id"][:2], several["nazovUJ"][:2]
    statements, years = threading.Event(), threading.Event()

    def later(path: str, _: str) -> None:
        if path == "/api/uctovna-zavierka":
            assert statements.wait(WAIT)
        if path == "/api/uctovny-vykaz" and viewer.filings is not None:  # the form has been read
            assert years.wait(WAIT)

    register.instead = later
    viewer.tabs.selected_index = 1
    statements.set()
    viewer.value = first
    viewer.fetch()
    reading = [thread for thread in threading.enumerate() if thread.name == "finstat_kit"]
    statements.clear()
    viewer.value = second
    years.set()
    for thread in reading:
        thread.join(WAIT)
    assert first_name not in viewer.history.value + viewer.panel.value
    assert shown_rows(viewer.history.value) == []

    statements.set()
    viewer.fetch()
    settle()
    assert second_name in viewer.history.value
    rows = shown_rows(viewer.history.value)
    assert rows == shown_rows(register.statement(second, lang="en")._repr_html_()) != []

    statements.clear()
    viewer.value = first
    assert second_name not in viewer.history.value + viewer.panel.value
    assert shown_rows(viewer.history.value) == []
    statements.set()
    viewer.fetch()
    settle()
    assert first_name in viewer.history.value


@pytest.mark.slow
def test_it_reads_over_http_and_no_property_waits() -> None:
    """Until the form is here there is none; `fetch` waits, and few requests are sent."""
    register = Watched(fk.sample(500))
    ids = register.units.ids()["id"]
    let = threading.Event()

    def later(path: str, _: str) -> None:
        if path == "/api/uctovna-zavierka":
            assert let.wait(WAIT)

    units = register.units.get(ids)
    unit = units.filter(pl.col("idUctovnychZavierok").list.len() > 3)["id"][0]
    viewer = fk.StatementViewer(units, register=register, lang="en")
    register.instead = later
    viewer.value = unit

    assert viewer.reports is viewer.filings is None
    assert viewer.panel.value == ""
    assert "Fetching the statements" in viewer.line.value
    assert f"value={unit}, statement=None, reports=None" in repr(viewer)
    let.set()
    filings = register.filings([unit])
    assert viewer.fetch()["id"].to_list() == filings.filter("counts")["report_ids"][-1].to_list()
    wait_for(viewer.panel, "fk-filed")
    with fk.sample(500).serve() as url:
        far = fk.StatementViewer(units, register=url, lang="en")
        far.value = unit
        assert far.fetch().equals(viewer.fetch())
        settle()


@pytest.mark.slow
def test_the_filings_of_a_unit_are_fetched_once() -> None:
    """Another year takes its reports alone; the late answer of another unit is dropped."""
    register = Watched(fk.sample(500))
    units = register.units.get(register.units.ids())
    able = units.filter(pl.col("idUctovnychZavierok").list.len() > 3)["id"]
    viewer = fk.StatementViewer(units, register=register, lang="en")
    viewer.value = able[0]
    viewer.fetch()
    settle()
    register.asked.clear()

    viewer.year.value = viewer.year.options[1][1]
    reports = viewer.fetch()

    asked = [path for path in register.asked if "sablona" not in path]
    assert sorted(asked) == [f"/api/uctovny-vykaz?id={id_}" for id_ in reports["id"].sort()]

    let = threading.Event()

    def later(path: str, _: str) -> None:
        if path == "/api/uctovna-zavierka":
            assert let.wait(WAIT)

    register.instead = later
    viewer.value = able[1]
    viewer.value = None
    let.set()
    settle()
    assert viewer.reports is viewer.filings is None
    assert viewer.panel.value == ""
    viewer.value = able[2]
    assert (
        viewer.fetch()["id"].sort().to_list()
        == register.filings([able[2]]).filter("counts")["report_ids"][-1].sort().to_list()
    )
    settle()


@pytest.mark.slow
def test_the_balance_sheet_comes_first() -> None:
    """Whichever of the two reports of a public body has the lower id; other files are last."""
    sample = fk.sample()
    town = sample.units.get(sample.units.ids(limit=2_000)).filter(pravnaForma="801").head(1)
    viewer = fk.StatementViewer(town, register=sample, lang="en")

    viewer.value = town["id"][0]

    forms = viewer.fetch()["idSablony"].to_list()
    assert forms[:2] == [690, 727]


def sought(viewer: StatementViewer, text: str) -> list[str]:
    """Type a text as the browser sends it; return the names that are offered."""
    answered = threading.Event()
    viewer.unit.observe(lambda _: answered.set(), "found")
    viewer.unit.sought = text
    assert answered.wait(WAIT)
    codes = viewer.unit.found["codes"]
    assert viewer.unit.found["text"] == text
    assert isinstance(codes, list)
    names = {code: name for code, name, *_ in viewer.unit.items}
    return [names[code] for code in codes]


@pytest.mark.slow
def test_without_a_frame_a_sample_is_searched() -> None:
    """As by `units.find`, the best match first, and how many more there are; none are listed."""
    viewer = fk.StatementViewer(register=SAMPLE)
    assert viewer.unit.searched
    assert viewer.unit.items == []

    assert sought(viewer, "orol 510 sro") == ["Skúška Orol 510, s. r. o."]
    assert sought(viewer, "003 724 91") == ["Skúška Orol 510, s. r. o."]
    viewer.unit.value = str(CORRECTED)
    assert viewer.value == CORRECTED
    assert viewer.fetch().height > 0
    found = SAMPLE.units.find("orol skuska", limit=None)
    assert sought(viewer, "orol skuska") == found["nazovUJ"].head(50).to_list()
    assert viewer.unit.found["more"] == found.height - 50
    assert viewer.unit.value == str(CORRECTED)
    assert sought(viewer, "…") == []
    assert not fk.StatementViewer(UNITS, register=SAMPLE).unit.searched


@pytest.mark.slow
def test_without_a_frame_any_id_may_be_set() -> None:
    """Its name stands in the field."""
    viewer = fk.StatementViewer(register=SAMPLE)
    assert sought(viewer, "dub 207") != []

    viewer.value = CORRECTED

    assert viewer.fetch().height > 0
    assert viewer.unit.value == str(CORRECTED)
    viewer.value = HOLDING
    assert viewer.unit.value == str(HOLDING)


@pytest.mark.slow
def test_a_mirror_says_that_it_has_no_statements(tmp_path: Path) -> None:
    """Its units are found; the reason stands where a form would."""
    sample = fk.sample(30)
    mirror = fk.Mirror(tmp_path / "ruz", register=sample)
    mirror.sync()
    units = mirror.units.get(mirror.units.ids())
    viewer = fk.StatementViewer(units, register=mirror, lang="en")

    viewer.value = units.filter(pl.col("idUctovnychZavierok").list.len() > 0)["id"][0]

    assert viewer.fetch().is_empty()
    wait_for(viewer.panel, "not in the copy of the register")


@pytest.mark.slow
def test_a_frozen_mirror_is_read_at_once(tmp_path: Path) -> None:
    """What is shown does not depend on timing; names come from the copy, also of an extract."""
    sample = fk.sample(12)
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=sample)
    mirror.sync()
    filed = sample.filings(sample.units.ids(), range(2014, 2026)).filter("counts")
    unit = int(filed["unit_id"][0])
    small = mirror.extract(tmp_path / "small", [unit])
    for register in (mirror.as_of(mirror.today), small):
        viewer = fk.StatementViewer(register=register)

        viewer.value = unit

        assert viewer.reports is not None
        assert sought(viewer, str(unit)) == register.units.get([unit])["nazovUJ"].to_list()
        assert len(sought(viewer, "s")) == register.units.find("s").height
        assert len(sought(viewer, "xyz")) == 0


def cells_of(row: str) -> list[str]:
    return [text.replace("\u00a0", " ") for text in re.findall(r"<td[^>]*>([^<]*)</td>", row)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "head", "sales", "result"),
    [
        (CORRECTED, "Sales", "sales", "net_profit"),
        *slow(
            (2712, "Revenue", "revenue_total", "net_profit"),
            (3030, "Receipts", "receipts_total", "cash_result"),
        ),
    ],
)
def test_sales_result_and_assets_stand_beside_each_year(
    unit: int, head: str, sales: str, result: str
) -> None:
    """Those of `financials`, of the statement that is taken; a superseded one has none."""
    viewer = fk.StatementViewer(SAMPLE.units.get([unit]), register=SAMPLE, lang="en")
    viewer.value = unit

    table = viewer.panel.value.partition("</table>")[0]
    heads, *rows = re.findall("<tr>.*?</tr>", table)
    assert re.findall(r">([^<]+)</th>", heads)[-3:] == [head, "Result", "Total assets"]
    shown = {
        int(year.removeprefix("▸ ")): cells[-3:]
        for year, *cells in map(cells_of, rows)
        if any(cells[-3:])
    }
    money = SAMPLE.financials([unit]).select("year", sales, result, "total_assets")
    assert shown == {
        year: ["" if v is None else f"{v:,.0f}".replace("-", "−") for v in values]
        for year, *values in money.iter_rows()
        if values != [None] * 3
    }
    assert len(shown) > 3
    if unit == CORRECTED:
        superseded = next(row for row in rows if ">superseded<" in row)
        assert cells_of(superseded)[-3:] == ["", "", ""]


@pytest.mark.slow
def test_the_second_tab_is_the_statement_over_years() -> None:
    """That of `statement`, by table, rows and language; its code prints it."""
    viewer = viewer_of()
    assert viewer.tabs.titles == ("Statement", "Years")
    assert viewer.history.value == ""

    viewer.tabs.selected_index = 1
    choices: list[tuple[Lang, bool, Statement]] = [("en", False, "income"), ("sk", True, "balance")]
    for lang, blanks, table in choices:
        viewer.lang, viewer.blanks.value, viewer.table.value = lang, blanks, table
        shown = SAMPLE.statement(CORRECTED, table=table, blanks=blanks, lang=lang)
        parts = shown._repr_html_().partition("<details")[2]
        assert parts in viewer.history.value
        assert parts in str(viewer._repr_mimebundle_()["text/html"])
    assert viewer.code().splitlines()[-1] == (
        'print(fk.statement(365, table="balance", blanks=True, lang="sk"))'
    )
    viewer.value = HOLDING
    assert UNITS.filter(id=HOLDING)["nazovUJ"].item() in viewer.history.value
    viewer.value = None
    assert viewer.history.value == ""


@pytest.mark.slow
def test_years_that_cannot_be_fetched_leave_the_form() -> None:
    """The error stands in the second tab."""
    register = Watched(fk.sample(200))
    units = register.units.get(register.units.ids())
    unit = units.filter(pl.col("idUctovnychZavierok").list.len() > 3)["id"][0]
    viewer = fk.StatementViewer(units, register=register, lang="en")
    read = set()

    def broken(path: str, query: str) -> Reply | None:
        newest = viewer.filings is None
        if path != "/api/uctovny-vykaz" or newest or query in read:
            read.add(query)
            return None
        return Reply(400, {}, b"<b>no</b>")

    register.instead = broken
    viewer.value = unit
    viewer.fetch()
    viewer.tabs.selected_index = 1
    settle()
    wait_for(viewer.history, "Failed: ")

    assert "fk-filed" in viewer.panel.value
    assert "<b>no" not in viewer.history.value


def test_a_real_register_is_not_walked() -> None:
    """Without a frame a line says what to type; nothing is requested before a whole number is."""
    register = fk.Register("https://register.example", tries=1)
    viewer = fk.StatementViewer(register=register, lang="en")

    assert "type an IČO, or pass records" in viewer.line.value
    assert sought(viewer, "orol") == []
    assert sought(viewer, "003 724 9") == []
    assert register.stats.requests == 0
    with pytest.raises(fk.UsageError, match="no unit is chosen"):
        viewer.fetch()


def test_a_register_without_names_finds_an_ico() -> None:
    """By one request; an error is a line of text."""
    with SAMPLE.serve() as url:
        viewer = fk.StatementViewer(register=fk.Register(url, tries=1), lang="en")
        assert sought(viewer, "00372491") == ["Skúška Orol 510, s. r. o."]
        assert sought(viewer, "SK2083436354") == ["Skúška Orol 510, s. r. o."]
        assert sought(viewer, "372491") == []  # may still be being typed
    assert sought(viewer, "00372492") == []
    wait_for(viewer.line, "Failed: ")


@pytest.mark.slow
def test_a_number_with_two_meanings_offers_both_units() -> None:
    """And chooses none."""
    viewer = fk.StatementViewer(register=SAMPLE)

    assert len(sought(viewer, "61387")) == 2

    assert viewer.value is None


def test_a_register_that_fails_is_a_line_of_text() -> None:
    """The error is a line of text, and raised by `fetch`; another unit can be chosen."""
    register = Watched(fk.sample(200))
    units = register.units.get(register.units.ids())
    able = units.filter(pl.col("idUctovnychZavierok").list.len() > 0)["id"]
    viewer = fk.StatementViewer(units, register=register, lang="en")
    failing = threading.Event()
    failing.set()

    def broken(path: str, _: str) -> Reply | None:
        if path == "/api/uctovna-zavierka" and failing.is_set():
            return Reply(400, {}, b"<b>no</b>")
        return None

    register.instead = broken
    viewer.value = able[0]
    with pytest.raises(BadRequest):
        viewer.fetch()
    wait_for(viewer.line, "Failed: ")
    assert "<b>" not in viewer.line.value
    failing.clear()
    viewer.value = able[1]
    assert viewer.fetch().height > 0
    settle()


def test_wrong_arguments_are_refused_with_the_cure() -> None:
    """Ids that are not given, and frames without units."""
    viewer = viewer_of()
    with pytest.raises(fk.UsageError, match="value=4 is not the id of a unit given"):
        viewer.value = 4
    wrong: Any = fk.StatementViewer(register=SAMPLE)
    for value in ("4", True, -1, 10**30, 4.0):
        with pytest.raises(fk.UsageError, match=r"value=.* give a whole number, 0 or more"):
            wrong.value = value
    assert wrong.value is None
    assert viewer.value == CORRECTED
    with pytest.raises(fk.UsageError, match="units: the frame has no column 'unit_id'"):
        fk.StatementViewer(UNITS.select("nazovUJ"), register=SAMPLE)
    with pytest.raises(fk.errors.NotFound, match="no record: 1"):
        fk.StatementViewer([1], register=SAMPLE)


@pytest.mark.slow
def test_ids_are_taken_as_records_are_and_a_single_unit_is_shown() -> None:
    """An id alone shows its newest statement, several are offered to choose from."""
    viewer = fk.StatementViewer(CORRECTED, register=SAMPLE, lang="en")
    assert repr(viewer) == repr(viewer_of())
    several = fk.StatementViewer([CORRECTED, HOLDING], register=SAMPLE)
    assert several.value is None
    assert {item[0] for item in several.unit.items} == {str(CORRECTED), str(HOLDING)}


def test_names_of_strangers_are_escaped_and_the_saved_view_is_the_form() -> None:
    """What looks like HTML is shown and never run; a saved notebook keeps table and form."""
    bad = "<img src=x onerror=alert(1)>"
    viewer = fk.StatementViewer(
        UNITS.with_columns(nazovUJ=pl.lit(bad), ico=pl.lit(bad)), register=SAMPLE, lang="en"
    )
    viewer.value = CORRECTED
    saved = viewer._repr_mimebundle_()

    assert "<img src=x" not in viewer.panel.value
    assert viewer.panel.value.count("&lt;img src=x") == 3
    assert "<img src=x" not in str(saved["text/html"])
    assert viewer.year.value is not None
    assert all(form in str(saved["text/html"]) for form in forms_of(viewer.year.value, "en"))
    assert 'aria-label="Statements by year"' not in str(saved["text/html"])  # a box that scrolls
    assert saved["text/plain"] == repr(viewer)


@pytest.mark.slow
def test_no_name_turns_a_text_around() -> None:
    """Control characters and marks of direction are replaced, in the list of units and below."""
    bad = "Ruža\u202e\x1b[31m"
    viewer = fk.StatementViewer(UNITS.with_columns(nazovUJ=pl.lit(bad)), register=SAMPLE, lang="en")
    viewer.value = CORRECTED

    for text in (viewer.panel.value, str(viewer._repr_mimebundle_()["text/html"]),
                 *(item[1] for item in viewer.unit.items)):  # fmt: skip
        assert "Ruža??[31m" in text
        assert not {letter for letter in text if not letter.isprintable()} - {"\n", "\u00a0"}


@pytest.mark.slow
def test_every_control_has_a_name() -> None:
    """Each control says what it is, in both languages."""
    viewer = viewer_of()
    for lang in ("sk", "en"):
        viewer.lang = lang
        names = [
            viewer.unit.texts["label"],
            viewer.unit.texts["clear"],
            viewer.year.description,
            viewer.blanks.description,
            viewer.language.description,
            viewer.table.description,
            *viewer.tabs.titles,
        ]
        assert all(names)
        assert len(set(names)) == len(names)
        # The list of filings, and the three tables of the form.
        labels = re.findall(r'tabindex="0" role="region" aria-label="(.+?)"', viewer.panel.value)
        assert len(labels) == len(set(labels)) == 4


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "mark"), [("sk", "v mene USD, nie v eurách"),
                                            *slow(("en", "in USD, not in euro"))])  # fmt: skip
def test_what_is_no_euro_is_marked(lang: Lang, mark: str) -> None:
    """In the heading and below the form, in the saved view too; the years have no such numbers."""
    sample = fk.sample(100, seed=1)
    living = sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
    (statement,) = sample.file(living.head(1), year=2025, case="other_currency")["id"]
    viewer = fk.StatementViewer(sample.units.get(living.head(1)), register=sample, lang=lang)
    viewer.value = living["id"][0]
    viewer.year.value = statement

    viewer.fetch()

    euro = {"sk": "v eurách", "en": "in euro"}[lang]
    for page in (viewer.panel.value, str(viewer._repr_mimebundle_()["text/html"])):
        headings = re.findall(r'bold">([^<]*)</div>', page)
        assert any(heading.endswith(f", {mark}") for heading in headings)
        assert page.count(mark) >= 2
        assert f"<small>{euro}" not in page


@pytest.mark.slow
@pytest.mark.parametrize("case", ["two_of_one_form", *slow("not_own_report", "not_own_statement")])
def test_forms_that_do_not_count_are_marked_or_left_out(case: str) -> None:
    """Of two on one form the lower id is marked; what is of another statement is not shown."""
    sample = fk.sample(100, seed=1)
    living = sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
    (statement,) = sample.file(living.head(1), year=2025, case=case)["id"]
    viewer = fk.StatementViewer(sample.units.get(living.head(1)), register=sample, lang="en")
    viewer.value = living["id"][0]
    viewer.year.value = statement

    read = viewer.fetch()

    mark = "Another report on the same form has a higher id."
    listed = sample.statements.get([statement])["idUctovnychVykazov"].list.len().item()
    assert (read.height, viewer.panel.value.count(mark)) == (
        (listed, 1) if case == "two_of_one_form" else (0, 0)
    )
    assert ("statement of another unit" in viewer.panel.value) == (case == "not_own_statement")
    if case == "two_of_one_form":
        forms = read.filter(pl.col("tabulky").is_not_null()).sort("id")
        names = [f"report {id_}" for id_ in forms["id"]]
        with fk.using(sample):
            code = re.sub("(?m)^fk.use.*$", "", viewer.code())
            assert printed_rows(code) == shown_rows(viewer.panel.value)
        marked = viewer.panel.value.index(mark)
        assert viewer.panel.value.rindex(names[0], 0, marked) > viewer.panel.value.find(
            names[1], 0, marked
        )
