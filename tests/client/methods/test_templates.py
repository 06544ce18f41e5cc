"""The templates of a register: fetched once, kept with it, the same in process and by URL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import ProtocolError
from finstat_kit.frames.reports import templates as frames
from finstat_kit.protocol.shipped import template_bodies
from tests.support.registers import Scripted

TABLES = {
    21: 2, 22: 1, 383: 4, 385: 4, 483: 0, 521: 2, 522: 2, 684: 2, 687: 3, 690: 2, 696: 2, 699: 3,
    700: 0, 716: 4, 720: 0, 725: 0, 727: 2, 1164: 4, 1171: 0, 1180: 4, 5183: 6,
}  # fmt: skip


def test_the_list() -> None:
    """Name, decree, days and the number of tables, by id; one request."""
    with fk.using(fk.sample()) as reg:
        listed = fk.template()
        again = fk.template()

        assert reg.stats.requests == 1
    assert listed.equals(again)
    assert listed.schema == frames.TEMPLATES
    assert dict(listed.select("id", "tables").rows()) == TABLES
    assert listed.row(1) == (
        22, "Výkaz ziskov a strát Úč POD 2-01", "MF/24219/3/2008", date(2009, 1, 1), None, 1,
    )  # fmt: skip


def test_a_list_without_tables() -> None:
    """How many tables there are is then known of those templates alone that were fetched."""
    with fk.sample(strict=True) as reg:
        assert reg.template()["tables"].null_count() == len(TABLES)
        reg.template(699)
        reg.template(483)
        assert reg.stats.requests == 3
        known = reg.template().drop_nulls("tables")
        assert reg.stats.requests == 3

    assert known.select("id", "tables").rows() == [(483, 0), (699, 3)]


def test_a_list_with_tables_is_enough() -> None:
    """What the list has told is not requested again, unless it is to be refreshed."""
    with fk.sample() as reg:
        reg.template()
        reg.template(699)
        reg.template(687, part="columns")
        reg.template(483)
        assert reg.stats.requests == 1
        reg.template(699, refresh=True)
        reg.template(refresh=True)
        assert reg.stats.requests == 3


def test_the_rows_of_a_form() -> None:
    """Row 5 of the assets, in all its columns; the sums as structs."""
    with fk.using(fk.sample()) as reg:
        rows = fk.template(699)
        fk.template(699, part="columns")
        fk.template(699)

        assert reg.stats.requests == 1
    assert rows.schema == frames.ROWS
    assert rows.row(4) == (
        0, 4, 5, "2.", "A.I.2.", 3, "Softvér (013) - /073, 091A/", "Software (013)-/073, 091A/",
        None,
    )  # fmt: skip
    assert rows.row(0)[5:] == (
        0,
        "SPOLU MAJETOK r. 02 + r. 33 + r. 74",
        "TOTAL ASSETS line 02 + line 33 + line 74",
        [{"sign": 1, "table": 0, "row": row} for row in (1, 32, 73)],
    )
    assert rows["terms"].dtype == pl.List(
        pl.Struct({"sign": pl.Int8, "table": pl.Int16, "row": pl.Int16})
    )
    assert rows.filter(pl.col("terms").is_not_null()).height == 46
    assert rows.group_by("table").len().sort("table").rows() == [(0, 78), (1, 67), (2, 61)]


def test_the_columns_of_a_form() -> None:
    """A micro form has no gross values; its English is the package's own translation."""
    with fk.using(fk.sample()):
        columns = fk.template(687, part="columns")

    assert columns.schema == frames.COLUMNS
    assert columns.row(0) == (
        0, 0, "current", "net", "Bežné účtovné obdobie / Netto 1",
        "Current accounting period / Net 1",
    )  # fmt: skip
    assert columns["measure"].to_list() == ["net", "net", None, None, None, None]


def test_a_template_without_tables() -> None:
    """Notes have no rows and no columns: empty frames with their schemas."""
    with fk.using(fk.sample()):
        assert fk.template(483).equals(pl.DataFrame(schema=frames.ROWS))
        assert fk.template(483, part="columns").equals(pl.DataFrame(schema=frames.COLUMNS))


@pytest.mark.parametrize("template", [21, 22, 687, 699])
def test_recorded_templates(template: int, recorded: Path) -> None:
    """Rows and sums of the templates that the live register sent."""
    body = (recorded / "templates" / f"{template}.json").read_bytes()
    whole = json.loads(body)

    rows = Scripted(body).template(template)

    sent = [
        (table, place, row["cisloRiadku"], row.get("oznacenie"), row["text"]["sk"])
        for table, one in enumerate(whole["tabulky"])
        for place, row in enumerate(one["riadky"])
    ]
    assert rows.select("table", "row", "number", "mark", "label_sk").rows() == sent


def test_recorded_sums(recorded: Path) -> None:
    """All sums of the four forms, as they were spelled out by readers of the decrees."""
    stated = pl.read_csv(recorded / "templates" / "rows.csv", infer_schema=False).with_columns(
        pl.col("template", "table", "row").cast(pl.Int16)
    )
    for template in (21, 22, 687, 699):
        own = stated.filter(template=template)
        rows = Scripted(template_bodies()[template]).template(template)
        numbers = {(t, r): n for t, r, n in rows.select("table", "row", "number").rows()}
        read = [
            " ".join(
                f"{'+' if t['sign'] > 0 else '-'}{numbers[t['table'], t['row']]}" for t in terms
            )
            if terms
            else None
            for terms in rows["terms"].to_list()
        ]
        assert read == own["terms"].to_list()


def test_no_such_template() -> None:
    """An unknown one is NotFound, however often it is asked for; the request is sent once."""
    with fk.using(fk.sample()) as reg:
        for _ in range(2):
            with pytest.raises(fk.errors.NotFound, match="no template 733; fk") as caught:
                fk.template(733)
        assert caught.value.ids == [733]
        assert reg.stats.requests == 1
        for wrong in (-1, 2**31, "699", True):
            with pytest.raises(fk.UsageError, match="template="):
                fk.template(wrong)  # type: ignore[arg-type]
        assert reg.stats.requests == 1


def test_an_error_is_not_kept() -> None:
    """After a failure the next call requests the template anew."""
    reg = Scripted(b'{"id":1}', template_bodies()[22])

    with pytest.raises(ProtocolError, match=r"template 22: \$\.id: expected 22, got 1"):
        reg.template(22)

    assert reg.template(22).height == 61
    assert reg.asked == ["/api/sablona?id=22"] * 2


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{}", r"\$\.sablony: it is missing"),
        (b'{"sablony":[1]}', r"\$\.sablony\[0\]: expected `object`"),
        (b'{"sablony":[{"nazov":"x"}]}', r"\$\.sablony\[0\]\.id: it is missing"),
        (b'{"sablony":[{"id":1},{"id":1}]}', r"the template 1 is listed twice"),
    ],
)
def test_broken_lists(body: bytes, named: str) -> None:
    """A list that is not there is an error, not an empty list."""
    with pytest.raises(ProtocolError, match=named):
        Scripted(body).template()


def test_threads_share_one_request() -> None:
    """Whoever needs the same template at the same time waits for the one request."""
    with fk.sample() as reg, ThreadPoolExecutor(8) as pool:
        heights = list(pool.map(lambda _: reg.template(699).height, range(16)))

        assert heights == [206] * 16
        assert reg.stats.requests == 1


@pytest.mark.slow
def test_by_url() -> None:
    """By URL it is the same."""
    with fk.sample().serve() as url, fk.Register(url) as reg:
        with fk.using(fk.sample()):
            assert reg.template(699).equals(fk.template(699))
            assert reg.template().equals(fk.template())
