"""Cells: the rule, agreed on by a second reader of it; what does not fit gives no number."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.errors import ProtocolError
from finstat_kit.frames.reports.cells import CELLS, NO_NUMBER, REASONS
from tests.support import filings
from tests.support.examples import examples
from tests.support.filings import BUSINESSES, drawn, frame, report, sizes
from tests.support.registers import Scripted

KEY = ["report_id", "template", "table", "row", "column", "number", "value"]


def blank(template: int) -> list[list[str]]:
    return [[""] * many for many in sizes(template)]


def without_cells(
    reports: pl.DataFrame | pl.LazyFrame, reg: fk.Register | None = None
) -> pl.DataFrame:
    """Return a row for each report, or table of one, that gave no number."""
    checks = (
        (reg or fk.sample(0)).reports.check(reports.lazy()).select("report_id", "reasons").collect()
    )
    return checks.explode("reasons").drop_nulls("reasons").unnest("reasons")


def reasons(reports: pl.DataFrame) -> list[tuple[object, ...]]:
    return without_cells(reports).rows()


@pytest.mark.parametrize("template", BUSINESSES)
def test_a_second_reader_agrees(template: int) -> None:
    """A hundred reports of every form, cell by cell."""
    records = [drawn(id_, template) for id_ in range(100)]
    form = filings.body(template)

    cells = fk.reports.cells(frame(*records))

    expected = [cell for record in records for cell in filings.cells_of(record, form)]
    assert cells.select(KEY).rows() == expected
    assert len(expected) > 3_000
    assert cells.schema == CELLS


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(BUSINESSES), st.integers(-1, 1)), max_size=12))
@examples(80)
def test_forms_may_be_mixed(kinds: list[tuple[int, int]]) -> None:
    """Forms in any order, some a cell short or long; the order of the reports is kept."""
    records = []
    for id_, (template, off) in enumerate(kinds):
        record = dict(drawn(id_, template))
        table = record["tabulky"][id_ % len(sizes(template))]  # type: ignore[index]
        if off:
            table.append("5") if off > 0 else table.pop()
        records.append(record)
    given_ = frame(*records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = fk.reports.cells(given_)

    forms = {template: filings.body(template) for template in BUSINESSES}
    expected = [c for r in records for c in filings.cells_of(r, forms[r["idSablony"]])]  # type: ignore[index]
    assert cells.select(KEY).rows() == expected
    wrong = {id_ for id_, (_, off) in enumerate(kinds) if off}
    without = without_cells(given_).filter(reason="length_mismatch")
    assert set(without["report_id"]) == wrong
    assert wrong.isdisjoint(cells["report_id"])


@pytest.mark.parametrize(("template", "off"), [(699, 1), (687, -1), (22, 1), (21, -1)])
def test_one_cell_more_or_less(template: int, off: int) -> None:
    """Wherever it is: no number of the whole report comes out, and the table is named."""
    for place, many in enumerate(sizes(template)):
        tables = [["7"] * size for size in sizes(template)]
        tables[place] = ["7"] * (many + off)
        reports = frame(report(5, template, tables))

        with pytest.warns(UserWarning, match="some reports gave no number"):
            assert fk.reports.cells(reports).equals(pl.DataFrame(schema=CELLS))
        assert reasons(reports) == [(5, place, "length_mismatch")]


@pytest.mark.parametrize("template", BUSINESSES)
def test_another_template(template: int) -> None:
    """The tables of one form under the template of another give nothing."""
    for other in set(BUSINESSES) - {template}:
        reports = frame(report(5, other, [["7"] * many for many in sizes(template)]))

        with pytest.warns(UserWarning, match="some reports gave no number"):
            assert fk.reports.cells(reports).is_empty()


def test_what_a_cell_is() -> None:
    """Period and measure come from the header, the number from the row; blank is not zero."""
    tables = blank(699)
    tables[0][4:8] = ["1", "", "0", "-4"]  # row 2 of the assets
    tables[1][43] = "12.34"  # row 100, the year before
    tables[2][0] = "9"

    cells = fk.reports.cells(frame(report(8, 699, tables)), labels=True)

    assert cells.drop("label_sk", "label_en").rows() == [
        (8, 699, 0, 1, 0, 2, "current", "gross", 1.0),
        (8, 699, 0, 1, 2, 2, "current", "net", 0.0),
        (8, 699, 0, 1, 3, 2, "previous", "net", -4.0),
        (8, 699, 1, 21, 1, 100, "previous", None, 12.34),
        (8, 699, 2, 0, 0, 1, "current", None, 9.0),
    ]
    assert cells["label_en"][0] == "Non-current assets line 03 + line 11 + line 21"
    assert cells["label_sk"][4] == "Čistý obrat (časť účt. tr. 6 podľa zákona)"
    nothing = fk.reports.cells(frame(report(8, 687, blank(687))).head(0), labels=True)
    assert nothing.columns[-2:] == ["label_sk", "label_en"]


def test_blanks() -> None:
    """Every cell of the form has a row; blank ones have no value."""
    tables = blank(22)
    tables[0][3] = "5"

    cells = fk.reports.cells(frame(report(8, 22, tables), drawn(9, 687)), blanks=True)

    assert cells.group_by("report_id", maintain_order=True).len().rows() == [(8, 122), (9, 166)]
    own = cells.filter(report_id=8)
    assert own["value"].null_count() == 121
    assert own.row(3)[2:6] == (0, 1, 1, 2)
    assert own.row(3)[-1] == 5.0


def test_numbers() -> None:
    """What the register writes is read exactly; what is no number has no value, and is listed."""
    written = {
        "0": 0.0, "-0": 0.0, "007": 7.0, "-12": -12.0, "182072156.12": 182072156.12,
        "9999999999999.99": 9999999999999.99, "-9999999999999.99": -9999999999999.99,
        "9223372036854775808": 2.0**63, "0.5": 0.5,
        "1 000": None, "1,5": None, "1e3": None, "inf": None, "NaN": None, "-": None, "x": None,
        ".5": None, "1.": None, "0x1": None, " 5": None, "1_0": None, "--1": None,
        "+5": 5.0, "1_000": None, "1E400": None, "5\n": None, "٣": None, "१२": None, "²": None,
        "9" * 310: None, "-" + "9" * 400: None,
    }  # fmt: skip
    tables = blank(22)
    tables[0][: len(written)] = written

    with pytest.warns(UserWarning, match="some reports gave no number"):
        cells = fk.reports.cells(frame(report(1, 22, tables)))

    assert cells["value"].to_list() == list(written.values())
    assert reasons(frame(report(1, 22, tables))) == [(1, 0, "not_a_number")]


def test_reasons() -> None:
    """Why a record gave no number, the first reason that applies."""
    file = [{"id": 1, "meno": "a.pdf"}]
    full = drawn(1, 22)["tabulky"]
    reports = frame(
        {"id": 1, "stav": "ZMAZANÉ", "datumPoslednejUpravy": "2026-01-01"},
        {"id": 2, "stav": "Neverejná", "datumPoslednejUpravy": "2026-01-01"},
        report(3, 22, full, pristupnostDat="Neverejné"),  # type: ignore[arg-type]
        {"id": 4},
        report(5, 483, [], prilohy=file),
        report(6, 22, []),
        {**report(7, 22, full), "idSablony": None},  # type: ignore[arg-type]
        report(8, 22, [*full, []]),  # type: ignore[misc]
        report(9, 22, blank(22)),
        drawn(10, 687),
        report(11, 687, [["1"] * 46, [""] * 44, [""] * 76]),
        report(12, 687, [["1"] * 46, ["1"] * 43, ["1"] * 75]),
    )

    found = reasons(reports)

    assert found == [
        (1, None, "deleted"),
        (2, None, "non_public"),
        (3, None, "non_public"),
        (4, None, "unreadable"),
        (5, None, "attachments_only"),
        (6, None, "no_content"),
        (7, None, "template_missing"),
        (8, None, "template_mismatch"),
        (9, 0, "all_blank"),
        (11, 1, "all_blank"),
        (11, 2, "all_blank"),
        (12, 1, "length_mismatch"),
        (12, 2, "length_mismatch"),
    ]
    assert without_cells(reports).schema == NO_NUMBER
    assert without_cells(reports.head(0)).schema == NO_NUMBER
    places = [REASONS.index(str(reason)) for *_, reason in found[:9]]
    assert all(a <= b for a, b in pairwise(places[:8]))


def test_templates_of_the_register() -> None:
    """Another template is requested once, and only for reports that have tables."""
    body = json.dumps(
        {
            "id": 5,
            "tabulky": [
                {
                    "pocetStlpcov": 3,
                    "pocetDatovychStlpcov": 1,
                    "hlavicka": [
                        {"text": {"sk": "20xx-1"}, "riadok": 1, "stlpec": 3, "sirkaStlpca": 1}
                    ],
                    "riadky": [{"text": {"sk": "Príjmy"}}, {"text": {"sk": "Výdavky"}}],
                }
            ],
        }
    ).encode()
    reg = Scripted(body, b'{"id":900}')
    reports = frame(
        report(1, 5, [["3", "4"]]), drawn(2, 22), report(3, 5, [["", "6"]]), report(4, 716, [])
    )

    with pytest.warns(UserWarning, match="gave no number"):
        cells = reg.reports.cells(reports)

    assert cells.filter(template=5).rows() == [
        (1, 5, 0, 0, 0, None, "previous", None, 3.0),
        (1, 5, 0, 1, 0, None, "previous", None, 4.0),
        (3, 5, 0, 1, 0, None, "previous", None, 6.0),
    ]
    assert reg.asked == ["/api/sablona?id=5"]
    assert without_cells(frame(report(9, 900, [["1"]])), reg).rows() == [
        (9, None, "no_tables_in_template")
    ]
    assert len(reg.asked) == 2


def test_the_shipped_forms_are_not_requested() -> None:
    """Others are, once; one that the register lacks gives no cells."""
    with fk.using(fk.sample()) as reg:
        assert fk.reports.cells(frame(drawn(1, 699))).height
        assert reg.stats.requests == 0
        with pytest.warns(UserWarning, match="gave no number"):
            assert fk.reports.cells(frame(report(1, 5, [["3"]]))).is_empty()
        assert without_cells(frame(report(1, 5, [["3"]]))).rows() == [(1, None, "template_missing")]
        assert reg.stats.requests == 1


@pytest.mark.slow
def test_lazy_is_the_same() -> None:
    """A LazyFrame stays lazy, asks nothing until it is collected, and warns once."""
    base = frame(*(drawn(id_, BUSINESSES[id_ % 4]) for id_ in range(250)))
    many = [base.with_columns(pl.col("id") + 250 * number) for number in range(9)]
    reports = pl.concat([*many, frame(report(5_000, 22, []))])
    reg = Scripted()

    lazy = reg.reports.cells(reports.lazy(), labels=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        collected = lazy.collect()
        streamed = lazy.filter(pl.col("table") == 0).collect(engine="streaming")

    assert isinstance(lazy, pl.LazyFrame)
    assert len(caught) == 1
    assert lazy.collect_schema() == collected.schema
    with pytest.warns(UserWarning, match="some reports"):
        eager = reg.reports.cells(reports, labels=True)
    assert collected.equals(eager)
    assert streamed.equals(eager.filter(pl.col("table") == 0))
    without = without_cells(reports, reg)
    assert without.rows() == [(5_000, None, "no_content")]


def test_lazy_asks_in_the_batch_that_needs_it() -> None:
    """The template is requested when the frame is collected, from the register of the call."""
    reports = frame(report(1, 5, [["3"]]))
    body = b'{"id":5,"tabulky":[{"pocetStlpcov":2,"pocetDatovychStlpcov":1,"riadky":[{}]}]}'
    with fk.using(Scripted(body)) as reg:
        lazy = fk.reports.cells(reports.lazy())
    assert isinstance(reg, Scripted)
    assert reg.asked == []

    assert lazy.collect()["value"].to_list() == [3.0]
    assert reg.asked == ["/api/sablona?id=5"]


def test_ctrl_c_while_a_template_is_requested() -> None:
    """It is our own error, eager and lazy; nothing is kept as if the template were unknown."""
    reports = frame(report(1, 5, [["3"]]))
    for lazily in (False, True):
        reg = Scripted(KeyboardInterrupt(), b'{"id":5}')
        with pytest.raises(fk.errors.Interrupted, match="interrupted"):
            reg.reports.cells(reports.lazy()).collect() if lazily else reg.reports.cells(reports)
        assert reg.template(5).is_empty()


def test_an_error_of_the_register_comes_through() -> None:
    """Also out of the middle of a query."""
    reports = frame(report(1, 5, [["3"]]))
    for lazily in (False, True):
        reg = Scripted(b'{"id":6}')
        with pytest.raises(ProtocolError, match=r"template 5: \$\.id"):
            reg.reports.cells(reports.lazy()).collect() if lazily else reg.reports.cells(reports)


@pytest.mark.parametrize(
    ("reports", "named"),
    [
        (pl.DataFrame({"id": [1]}), "^reports: the frame has no column 'idSablony'"),
        (frame().drop("tabulky"), "^reports: the frame has no column 'tabulky'"),
        (frame().with_columns(tabulky=pl.lit("x")), "^reports: the column 'tabulky' is String"),
        (frame().lazy().drop("id"), "^reports: the frame has no column 'id'"),
        ([1], "^reports is a list"),
    ],
)
def test_wrong_frames(reports: object, named: str) -> None:
    """What is no frame of reports is refused before anything is read."""
    for function in (fk.reports.cells, fk.reports.check):
        with pytest.raises(fk.UsageError, match=named):
            function(reports)  # type: ignore[type-var]


def test_columns_that_a_frame_may_lack() -> None:
    """Three columns are enough, and a column of nulls may have no type."""
    few = frame(drawn(1, 22)).select("id", "idSablony", "tabulky")
    empty = pl.DataFrame({"id": [1], "idSablony": [None], "tabulky": [None]})

    assert fk.reports.cells(few).height
    assert without_cells(empty).rows() == [(1, None, "no_content")]
    assert fk.reports.cells(few.with_columns(pl.col("id").cast(pl.UInt32))).schema == CELLS


def test_recorded_filings(recorded: Path) -> None:
    """Real filings: the second reader agrees, and the balance holds."""
    totals = {}
    for path in sorted((recorded / "templates" / "recorded").glob("*.json")):
        sent = json.loads(path.read_bytes())
        tables = [table["data"] for table in sent["obsah"]["tabulky"]]
        record = report(sent["id"], sent["idSablony"], tables)
        cells = fk.reports.cells(frame(record))
        assert cells.select(KEY).rows() == filings.cells_of(record, filings.body(sent["idSablony"]))
        first = cells.filter(pl.col("row") == 0, pl.col("period") == "current")
        totals[sent["id"]] = first.filter(~pl.col("measure").eq_missing("gross"))["value"].to_list()

    assert totals[3873399] == [500466.0, 500466.0]
    assert totals[9000007][:2] == [10152.0, 10152.0]
