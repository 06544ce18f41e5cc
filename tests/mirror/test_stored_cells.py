"""Cells written once as a long table: every text comes back, and filters reach the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.errors import MirrorError
from finstat_kit.frames.reports.cells import CELLS
from finstat_kit.mirror.storage.cells import ORDER, STORED, joined, split
from finstat_kit.mirror.storage.files import Layout
from finstat_kit.protocol.forms import shipped
from tests.support.examples import examples
from tests.support.filings import drawn, frame, report
from tests.support.registers import Watched
from tests.support.syncs import FIRST, day_of_filings

KEY = ["report_id", "template", "table", "row", "column"]
ODD = ["", "0", "-0", "00", "007", "5", "-5", "+5", "5.0", "5.00", "5.5", "5.50", "-0.05", "0.005"]
ODD += [
    "182072156.12",
    "9007199254740993",
    "9007199254740992",
    "99999999999999.99",
    "1e5",
    "x",
    "žltý",
    "1 000",
    ".",
]
texts = st.sampled_from(ODD) | st.text(max_size=4) | st.decimals(-(10**9), 10**9, places=2).map(str)
tables = st.lists(st.lists(texts, max_size=6) | st.none(), max_size=4) | st.none()


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([699, 687, 5, None]), tables), max_size=5))
@examples(100)
def test_every_text_comes_back(filed: list[tuple[int | None, Any]]) -> None:
    """Whatever a report holds, its lengths and its cells give it back."""
    records = frame(*({"id": i, "idSablony": t, "tabulky": d} for i, (t, d) in enumerate(filed)))
    stored, cells = split(records, 3, shipped)
    again = joined(stored.with_columns(version=pl.lit(3, pl.Int64)), cells)

    assert_frame_equal(again.select("id", "tabulky"), records.select("id", "tabulky"))
    assert_frame_equal(cells.select(ORDER), cells.select(ORDER).sort(ORDER))


def test_merged_cells_are_in_order(tmp_path: Path) -> None:
    """Those without a place come first in their table, as in each file; none is lost."""
    layout, files = Layout(STORED, ORDER), []
    for version, ids in enumerate([(4, 2), (3, 1), (5, 6)], start=1):
        fitting = [drawn(id_, 699) for id_ in ids]
        odd = report(20 - version, 699, [["7", "8"]])  # too short for its form
        files.append(layout.write(tmp_path, split(frame(*fitting, odd), version, shipped)[1]))
    before = pl.read_parquet([tmp_path / file.path for file in files])
    file = layout.merged(tmp_path, files)
    merged = pl.read_parquet(tmp_path / file.path)

    assert (file.rows, file.first, file.last) == (before.height, 1, 3)
    assert file.ids == (1, 19)
    assert merged["row"].null_count() == 6
    assert_frame_equal(merged, before.sort(ORDER, maintain_order=True))


def test_a_text_does_not_depend_on_its_neighbours() -> None:
    """Cents are given back the same from one row and from many."""
    for texts in (["62331622.73"], ["0", "62331622.73"], ["1.50", "-62331622.73"] * 50):
        stored, cells = split(frame(report(1, 699, [texts])), 3, shipped)

        assert cells["raw"].null_count() == len(texts)
        again = joined(stored.with_columns(version=pl.lit(3, pl.Int64)), cells)
        assert again["tabulky"].to_list() == [[texts]]


def test_texts_are_kept_only_where_the_number_does_not_give_them_back() -> None:
    """Whole numbers and cents need none."""
    _, cells = split(frame(report(1, 9, [ODD])), 1, shipped)

    kept = cells.filter(pl.col("raw").is_not_null())["raw"].to_list()
    plain = {"0", "5", "-5", "5.50", "-0.05", "182072156.12"}
    assert sorted(kept) == sorted(set(ODD) - plain - {""})


def test_a_report_that_misses_a_cell_is_an_error() -> None:
    """Its digest is that of all its texts."""
    stored, cells = split(frame(drawn(7, 699)), 1, shipped)

    with pytest.raises(MirrorError, match="cells of report 7 are not as they were received"):
        joined(stored.with_columns(version=pl.lit(1, pl.Int64)), cells[1:])


def test_cells_of_a_report_that_does_not_fit_are_no_cells() -> None:
    """They are stored without a row, so that the record comes back."""
    _, cells = split(frame(report(1, 699, [["5"]])), 1, shipped)

    assert cells.select("row", "place", "value").rows() == [(None, 0, 5.0)]


@pytest.mark.parametrize("template", [21, 385, 687, 699])
def test_the_columns_of_a_report_that_are_filled(template: int) -> None:
    """Those that cells lie in, counted over all tables; null where it does not fit its form."""
    form = shipped(template)
    assert form is not None
    widths = [len(table.columns) for table in form.tables]
    blanks = [[""] * table.cells for table in form.tables]
    last = [*blanks[:-1], [*blanks[-1][:-1], "x"]]
    filed = [drawn(1, template), report(2, template, blanks), report(3, template, last)]
    stored, cells = split(frame(*filed, report(4, template, [["5"]])), 1, shipped)

    drawn_cells = cells.filter(report_id=1).select("table", "column").unique()
    places = {sum(widths[:table]) + column for table, column in drawn_cells.rows()}
    of_drawn = sum(2**place for place in places)
    assert stored["filled"].to_list() == [of_drawn, 0, 2 ** (sum(widths) - 1), None]


def test_a_column_that_a_later_version_added_is_null(tmp_path: Path) -> None:
    """In the rows of before, also once they are merged with others."""
    stored = split(frame(drawn(1, 687)), 1, shipped)[0].select("id", "filled", version=pl.lit(1))
    stored = stored.cast({"version": pl.Int64})
    now = Layout(stored.schema)
    former = Layout(stored.drop("filled").schema)
    files = [former.write(tmp_path, stored), now.write(tmp_path, stored)]
    merged = now.merged(tmp_path, files)

    for paths in ([file.path for file in files], [merged.path]):
        rows = now.scan([str(tmp_path / path) for path in paths]).collect()
        assert rows.schema == stored.schema
        assert rows["filled"].null_count() == 1
        assert rows["id"].to_list() == [1, 1]


@pytest.fixture(scope="module")
def register() -> Watched:
    return Watched(fk.sample(8), page_size=200)


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory, register: Watched) -> fk.Mirror:
    """Give a mirror of two days, which no test changes."""
    mirror = fk.Mirror(tmp_path_factory.mktemp("cells") / "ruz", contents=True, register=register)
    mirror.sync()
    day_of_filings(register)
    mirror.sync()
    return mirror


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:some reports gave no number")
@pytest.mark.parametrize("labels", [False, True])
def test_all_cells_are_those_of_the_register(
    mirror: fk.Mirror, register: Watched, *, labels: bool
) -> None:
    """Of all reports held, without the superseded versions."""
    sample = register.sample
    wanted = sample.reports.cells(sample.reports.get(sample.reports.ids()), labels=labels).sort(KEY)

    found = mirror.scan_cells(labels=labels)
    assert_frame_equal(found.collect().sort(KEY), wanted)
    assert found.collect_schema() == wanted.schema
    one = (pl.col("template") == 687) & (pl.col("table") == 0) & (pl.col("row") == 0)
    assert_frame_equal(found.filter(one).collect().sort(KEY), wanted.filter(one))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:some reports gave no number")
def test_cells_as_of_a_day_are_those_of_the_day(mirror: fk.Mirror) -> None:
    frozen = mirror.as_of(FIRST)
    wanted = frozen.reports.cells(frozen.reports.scan().collect()).sort(KEY)

    assert_frame_equal(frozen.scan_cells().collect().sort(KEY), wanted)
    assert not mirror.scan_cells().collect().sort(KEY).equals(wanted)


def test_filters_on_the_key_reach_the_files(mirror: fk.Mirror) -> None:
    """The scan of the files applies them, so that row groups without the cell are skipped."""
    plan = mirror.scan_cells().filter(template=699, table=0, row=32).select("value").explain()

    scan = plan[plan.index("Parquet SCAN") :]
    selection = scan[scan.index("SELECTION") :].splitlines()[0]
    assert all(f'col("{name}")' in selection for name in ("template", "table", "row"))


def test_snapshots_of_reports_have_all_but_the_tables(mirror: fk.Mirror) -> None:
    columns = mirror.snapshot("reports").collect_schema().names()

    wanted = mirror.reports.get(mirror.reports.ids(limit=1)).columns
    assert set(wanted) - set(columns) == {"tabulky"}
    assert columns[-2:] == ["gone", "seen"]


def test_what_cells_refuse(mirror: fk.Mirror, tmp_path: Path) -> None:
    """A mirror without reports has no cells."""
    units = fk.Mirror(tmp_path / "units", register=fk.sample(5))
    units.sync()

    with pytest.raises(fk.UsageError, match="of reports this mirror holds the ids alone"):
        units.scan_cells()
    assert mirror.scan_cells().collect_schema() == CELLS
