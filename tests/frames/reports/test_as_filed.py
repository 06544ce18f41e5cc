"""A report as it was filed: rows in order, columns side by side, text and HTML."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import orjson
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.frames.reports.filed import Filed, as_filed
from finstat_kit.protocol.forms import parse_template
from tests.support.examples import slow
from tests.support.filings import body, drawn, frame, report, sizes

COMPANY = {
    "nazovUctovnejJednotky": "Vzor <b>Javor</b>, s. r. o.",
    "ico": "00123456",
    "pravnaForma": "112",
    "adresa": {"ulica": "Vymyslená", "cislo": "7", "psc": "01001", "mesto": "Žilina"},
    "typZavierky": "Riadna",
    "obdobieOd": date(2024, 1, 1),
    "obdobieDo": date(2024, 12, 31),
}
PERSON = COMPANY | {"nazovUctovnejJednotky": "Jana Vymyslená", "pravnaForma": "101"}


def micro(**more: object) -> pl.DataFrame:
    tables = [[""] * many for many in sizes(687)]
    tables[0][0:2] = ["1234567", "-5"]
    tables[2][2:4] = ["x", "0"]
    record = report(5, 687, tables, **more)
    return pl.DataFrame([dict(record)])


def test_all_rows_in_order() -> None:
    """Every row of the form stands there, as often as it has cells; only filled ones on demand."""
    whole, filled = (fk.as_filed(micro(), lang="sk", filled=only) for only in (False, True))

    form = body(687)["tabulky"]
    assert [[line.caption for line in part.lines] for part in whole.parts] == [
        [row["text"]["sk"] for row in table["riadky"]] for table in form
    ]
    assert [[line.number for line in part.lines] for part in filled.parts] == [["1"], [], ["2"]]
    assert filled.parts[0].lines[0].values == ["1\xa0234\xa0567", "−5"]
    assert filled.parts[2].lines[0].values == ["x", "0"]
    assert whole.parts[0].lines[4][4] == 3


@pytest.mark.parametrize(
    ("lang", "named", "mena"),
    [
        ("sk", "v mene {}, nie v eurách", "SKK"),
        *slow(("sk", "v mene {}, nie v eurách", " czk "), ("en", "in {}, not in euro", "<b>X</b>")),
    ],
)
def test_what_is_no_euro_is_marked_in_the_heading(mena: str, lang: Lang, named: str) -> None:
    """And below the tables, by the currency that the report names, as text and as HTML."""
    filed = fk.as_filed(micro(mena=mena), lang=lang)
    mark = named.format(mena.strip().upper())
    euro = {"sk": "v eurách", "en": "in euro"}[lang]

    assert filed.heading.endswith(f", {mark}")
    assert [note for note in filed.notes if "eur" in note] == [
        f"{'výkaz' if lang == 'sk' else 'report'} 5: {mark}"
    ]
    assert str(filed).replace("\n", " ").count(mark) == 2
    page = filed._repr_html_()
    assert page.count(mark.replace("<", "&lt;").replace(">", "&gt;")) == 2
    assert "<b>" not in page.lower()
    for own in (None, "", "EUR", " eur "):
        plain = fk.as_filed(micro(mena=own), lang=lang)
        assert plain.notes[0] == euro
        assert "eur" not in plain.heading
    assert fk.as_filed(micro(), lang=lang).notes[0] == euro


def test_of_reports_shown_as_one_each_has_its_currency() -> None:
    """The heading and the notes name the report that is in korunas."""
    korunas = micro(mena="SKK", idUctovnejZavierky=1).with_columns(id=pl.lit(6, pl.Int64))
    both = pl.concat([micro(mena="EUR", idUctovnejZavierky=1), korunas])

    filed = fk.as_filed(both, lang="en")

    first, second = filed.heading.split(" · ")
    assert "euro" not in first
    assert "report 6" in second
    assert second.endswith(", in SKK, not in euro")
    assert filed.notes[:1] == ["in euro"]
    assert "report 6: in SKK, not in euro" in filed.notes


def test_text() -> None:
    """Captions are indented by level and wrapped, numbers aligned."""
    shown = str(fk.as_filed(micro(titulnaStrana=COMPANY), lang="sk", filled=True))

    assert shown.splitlines()[:9] == [
        "Úč MUJ (687), výkaz 5",
        "",
        "Účtovná jednotka  Vzor <b>Javor</b>, s. r. o.",
        "IČO               00123456",
        "Sídlo             Vymyslená 7, 01001 Žilina",
        "Obdobie           1. 1. 2024 – 31. 12. 2024",
        "Závierka          Riadna",
        "",
        "Strana aktív",
    ]
    lines = shown.splitlines()
    assert lines[10].split() == ["netto", "netto"]
    assert lines[12].endswith("1 234 567               −5")
    assert len({len(lines[row]) for row in (9, 10, 11, 12)}) == 1
    assert lines[-1] == "v eurách, len vyplnené riadky"


def test_a_translated_form_says_so_once() -> None:
    """In its heading, as text and as HTML; 699 is in the register's English, Slovak never says."""
    english, slovak = (fk.as_filed(micro(), lang=lang) for lang in ("en", "sk"))
    full = fk.as_filed(frame(drawn(1, 699)), lang="en")

    assert english.heading == "Úč MUJ (687), report 5, unofficial translation"
    assert [part.name for part in english.parts] == [
        "Assets", "Liabilities and equity", "Income statement",
    ]  # fmt: skip
    assert english.parts[0].lines[0].caption == "TOTAL ASSETS line 02 + line 14"
    for shown in (str(english), english._repr_html_()):
        assert shown.count("translation") == 1
        assert "[sk]" not in shown
    for other in (slovak, full):
        assert "translation" not in str(other) + other._repr_html_()
    assert "TOTAL ASSETS line 02 + line 33 + line 74" in str(full)


def test_what_has_no_english_is_marked() -> None:
    """A caption that is not translated stands there in Slovak, and says that it is Slovak."""
    captions = ["Obchodné podiely v súkromných lesoch", "Zásoby"]
    table = {
        "nazov": {"sk": "Lesy"}, "pocetStlpcov": 2, "pocetDatovychStlpcov": 1,
        "riadky": [{"text": {"sk": caption}} for caption in captions],
    }  # fmt: skip
    form = parse_template(orjson.dumps({"id": 9, "tabulky": [table]}), 9)

    filed = as_filed(frame(report(5, 9, [["1", "2"]])), lambda _: form, lang="en")

    assert filed.heading.endswith(", unofficial translation")
    assert [line.marked for line in filed.parts[0].lines] == [True, False]
    assert f"{captions[0]} [sk]" in str(filed)
    assert f'<i lang="sk">{captions[0]}</i> <small>[sk]</small>' in filed._repr_html_()
    assert "Lesy [sk]" in str(filed)
    assert str(filed).endswith("[sk]: a caption without English")


@pytest.mark.parametrize("lang", ["en", *slow("sk")])
def test_title_pages_of_people(lang: Lang) -> None:
    """A natural person's is not shown unless it is asked for; a company's may be left out."""
    person, company = micro(titulnaStrana=PERSON), micro(titulnaStrana=COMPANY)
    trader = micro(
        titulnaStrana=PERSON | {"pravnaForma": None, "miestoPodnikania": {"mesto": "Žilina"}}
    )

    for one in (person, trader):
        for shown in (fk.as_filed(one, lang=lang), fk.as_filed(one, lang=lang, title=False)):
            assert shown.title == []
            assert "Jana" not in str(shown) + shown._repr_html_()
        assert "title=True" in str(fk.as_filed(one, lang=lang))
        assert "Jana" in str(fk.as_filed(one, lang=lang, title=True))
    assert "Javor" in str(fk.as_filed(company, lang=lang))
    assert "Javor" not in str(fk.as_filed(company, lang=lang, title=False))


def test_html() -> None:
    """What the register sent is escaped; columns of one period stand under one head."""
    tables = [[""] * many for many in sizes(699)]
    tables[0][0] = "<script>\u202e\x1b"
    one = report(7, 699, tables, prilohy=[{"id": 1, "meno": "<a>.pdf"}])

    page = fk.as_filed(frame(one), lang="en")._repr_html_()

    assert "<script>" not in page
    assert "&lt;script&gt;??<" in page
    assert "&lt;a&gt;.pdf" in page
    assert page.count("<table ") == page.count("</table>") == 3
    assert '<th scope="colgroup" colspan="3">current period</th>' in page
    assert len(re.findall("<tr", page)) == 206 + 2 + 1 + 1


def test_a_page_is_complete(tmp_path: Path) -> None:
    """One file with all rows open, nothing requested elsewhere, the source at its foot."""
    with fk.using(fk.sample(50)):
        one = frame(report(7, 699, [["5"] * many for many in sizes(699)]))
        path = fk.as_filed(one, lang="en").to_html(tmp_path / "statement.html")
        cited = fk.cite(lang="en")
    page = path.read_text(encoding="utf-8")

    assert page.count("<tr") == 206 + 2 + 1 + 1
    assert re.findall("<details(.*?)>", page) == [" open"] * 3
    assert ".b{max-height:none}" in page
    assert not re.search(r"(src|href)=|url\(|@import", page)
    assert page.endswith(f"<footer>{cited}</footer></body></html>\n")
    with pytest.raises(fk.UsageError, match="path="):
        fk.as_filed(one, lang="en").to_html("")


def test_a_long_form_is_folded_by_table() -> None:
    """All rows are there; of one with few rows filled nothing is folded."""
    one = frame(report(7, 699, [["5"] * many for many in sizes(699)]))
    few = frame(report(7, 699, [["5"] + [""] * (many - 1) for many in sizes(699)]))

    pages = [fk.as_filed(each, lang="en", filled=True)._repr_html_() for each in (one, few)]

    for page, states in zip(pages, ([" open", "", ""], [" open"] * 3), strict=True):
        assert re.findall("<details(.*?)>", page) == states
    assert re.findall(r"<summary>(.*?) <small>\((.*?)\)", pages[0]) == [
        ("Assets", "78 rows"),
        ("Liabilities and equity", "67 rows"),
        ("Income statement", "61 rows"),
    ]


def test_the_reports_of_a_statement_are_shown_as_one() -> None:
    """The balance sheet first, one title page; a report without tables is named in the notes."""
    more = {"titulnaStrana": COMPANY, "idUctovnejZavierky": 3}
    filed = [
        dict(report(8, 727, [["5"] * many for many in sizes(727)], **more)),
        dict(report(7, 690, [["5"] * many for many in sizes(690)], **more)),
        dict(report(9, 483, [], **more, prilohy=[{"id": 1, "meno": "a.pdf"}])),
    ]
    reports = pl.DataFrame(filed, infer_schema_length=None)

    shown = fk.as_filed(reports, lang="en", filled=True)

    assert re.findall(r"report \d", shown.heading) == ["report 7", "report 8"]
    assert [len(part.lines) for part in shown.parts] == [114, 69, 64, 74]
    assert str(shown).count("Vzor <b>Javor</b>") == 1
    assert "Report 9: Attachments: a.pdf" in shown.notes
    with pytest.raises(fk.UsageError, match=r"2 rows; give one report.*or those of one statem"):
        fk.as_filed(reports.head(2).with_columns(idUctovnejZavierky=pl.Series([3, 4])), lang="en")


def test_terminals_get_no_control_characters() -> None:
    """Neither from cells nor from names."""
    tables = [[""] * many for many in sizes(22)]
    tables[0][0] = "\x1b[31m"
    shown = str(fk.as_filed(frame(report(7, 22, tables)), lang="sk"))

    assert "\x1b" not in shown


def test_cents() -> None:
    """Where one cell has cents, all are written with them."""
    tables = [[""] * many for many in sizes(22)]
    tables[0][:3] = ["182072156.12", "5", ""]

    found = fk.as_filed(frame(report(7, 22, tables)), lang="en").parts[0]

    assert found.lines[0].values == ["182,072,156.12", "5.00"]
    assert found.lines[1].values == ["", ""]


def test_a_number_is_what_cells_read_as_one() -> None:
    """Every other text stands as it was filed; every digit of a number is shown."""
    numbers = ["+5", "-12", "007", "123456789012345678901"]
    texts = ["1e3", "1_000", "1E400", "٣", "१२", "inf", "NaN", "1.", " 5", "9" * 310, "x.5"]
    tables = [[""] * many for many in sizes(22)]
    tables[0][: len(numbers) + len(texts)] = [*numbers, *texts]
    filed = frame(report(7, 22, tables))

    lines = fk.as_filed(filed, lang="en").parts[0].lines

    shown = [value for line in lines for value in line.values]
    assert shown[: len(numbers)] == ["5", "−12", "7", "123,456,789,012,345,678,901"]
    assert shown[len(numbers) :][: len(texts)] == texts
    with pytest.warns(UserWarning, match="gave no number"):
        cells = fk.reports.cells(filed)
    assert cells["value"].is_not_null().sum() == len(numbers)


@pytest.mark.parametrize(
    ("lang", "written"),
    [
        ("sk", ["1. 1. 2024 – 31. 12. 2024", "Riadna", "28. 2. 2025", "3. 3. 2025"]),
        ("en", ["1 January 2024 – 31 December 2024", "Ordinary", "28 February 2025",
                "3 March 2025"]),
    ],
)  # fmt: skip
def test_days_are_written_as_the_language_does(lang: Lang, written: list[str]) -> None:
    """In one style, which the viewer has too; the kind of the statement in its words."""
    days = {"datumZostavenia": date(2025, 2, 28), "datumSchvalenia": date(2025, 3, 3)}
    title = fk.as_filed(micro(titulnaStrana=COMPANY | days), lang=lang).title

    assert [value.replace("\u00a0", " ") for _, value in title[3:]] == written


def test_a_report_without_numbers() -> None:
    """It shows why, and its files."""
    notes = frame(report(9, 483, [], prilohy=[{"id": 1, "meno": "poznamky.pdf"}]))

    shown = fk.as_filed(notes, lang="en")

    assert isinstance(shown, Filed)
    assert str(shown).splitlines() == [
        "Report 9",
        "",
        "No numbers: PDF only",
        "Attachments: poznamky.pdf",
    ]
    short = frame(report(9, 687, [["1"]] * 3))
    assert "Bez čísel: iný počet buniek ako v tlačive" in str(fk.as_filed(short, lang="sk"))


def test_one_report() -> None:
    """Of several it is not known which; the language is the register's."""
    two = frame(drawn(1, 22), drawn(2, 22))
    with pytest.raises(fk.UsageError, match="the frame has 2 rows; give one report"):
        fk.as_filed(two)
    with pytest.raises(fk.UsageError, match="lang='de'"):
        fk.as_filed(two.head(1), lang="de")  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match=r"^report: the frame has no column 'idSablony'"):
        fk.as_filed(pl.DataFrame({"id": [1]}))
    with fk.using("sample", lang="en"):
        assert fk.as_filed(two.lazy().head(1)).lang == "en"
    assert fk.as_filed(two.head(1)).lang == "sk"
