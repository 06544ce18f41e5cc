"""What is new in a mirror since a point: filings of its units, and what changed in their records.

Two states are compared. What a sync wrote in between only says which units to look at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import polars as pl

from finstat_kit import arguments
from finstat_kit.client.source import Wanted
from finstat_kit.errors import MirrorError, UsageError, invalid, warn
from finstat_kit.frames.financials import filings as filing_rules
from finstat_kit.in_place import put, refuse_unwritable
from finstat_kit.mirror.changes import changes_of
from finstat_kit.mirror.figures import Figures, Query
from finstat_kit.mirror.local_register import LocalRegister
from finstat_kit.mirror.state import State
from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.logs import COLLECTIONS
from finstat_kit.mirror.storage.rows import FILLED, META, MISSING, OWNED, RECORD, schema_of
from finstat_kit.mirror.storage.runs import Point, Run
from finstat_kit.protocol import wire

_MONEY: Final = ("total_assets", "sales")
_KEYS: Final = {"statements": "statement_id", "annual_reports": "annual_report_id"}
_OF_REPORTS: Final = {"statements": "idUctovnejZavierky", "annual_reports": "idVyrocnejSpravy"}
NEWS: Final = pl.Schema(
    {
        "unit_id": pl.Int64(),
        "ico": pl.String(),
        "name": pl.String(),
        "what": pl.Enum(["new", "corrected", "gone", "changed"]),
        "fields": pl.String(),
        "year": pl.Int32(),
        "kind": pl.String(),
        "consolidated": pl.Boolean(),
        "filed": pl.Date(),
        **{f"{item}{when}": pl.Float64() for item in _MONEY for when in ("", "_before")},
        **dict.fromkeys(_KEYS.values(), pl.Int64()),
    }
)
_LOGS: Final = (*COLLECTIONS, "cells")  # that are compared
# Their changes are rows of filings, or say only that something else has changed.
_LEFT_OUT: Final = (*OWNED.values(), wire.CHANGED)
_FILING: Final = ("unit_id", *_KEYS.values())


def point_since(run: Run, since: object) -> Point:
    """Return the point that an argument names by its id, or the last one of a day.

    Raises:
        UsageError: There is none, or rows that it counted are lost.
    """
    point = next((point for point in run.points if point.id == since), None)
    if point is None:
        try:
            point = run.on(arguments.day("since", since, "one such as '2026-06-30', or a point"))
        except UsageError as error:
            error.argument = "since"
            raise
    for loss in filter(None, (run.loss(log, point) for log in _LOGS)):
        whole = run.after(loss)
        raise invalid(
            "since",
            str(since),
            f": {loss.file.rows:,} rows of {loss.log} that counted then were lost",
            cure=f"give {str(whole.day)!r} or a later day" if whole else run.cure,
        )
    return point


def news_since(then: State, now: State, figures: Figures) -> pl.DataFrame:
    """Return what is new in one state since another; see `Mirror.news`.

    Args:
        then: The former state.
        now: The later one.
        figures: Of the later one.
    """
    with legible(now.path):
        owners, corrected = [_newer(then, now, "units")], {}
        reports = _rewritten(then, now, "reports", _newer(then, now, "reports"))
        for name, column in _OF_REPORTS.items():
            newer = _newer(then, now, name)
            of_reports = reports[column].drop_nulls()
            corrected[name] = pl.concat([_rewritten(then, now, name, newer)["id"], of_reports])
            touched = pl.concat([newer, of_reports]).unique()
            owners += [state.records(name, touched)[0]["idUJ"] for state in (then, now)]
        ids = pl.concat(owners).drop_nulls().unique()
        before, after = (state.records("units", ids)[0] for state in (then, now))
        changed = _changed(before, after, given=now.is_part)
        is_there = pl.col("gone").is_null()
        stays = before.filter(is_there).join(after.filter(is_there), on="id", how="semi")
        after_too = after.join(stays, on="id", how="semi")
        old, new = _named(then, stays), _named(now, after_too, then)
        filings = _filings(old, new, corrected)
    filings = filings.join(
        _money(figures, after_too, filings) if now.keeps("reports") else _no_money(),
        on=["unit_id", "statement_id"],
        how="left",
    )
    names = pl.concat([after, before]).select(unit_id="id", ico="ico", name="nazovUJ")
    names = names.group_by("unit_id").agg(pl.all().drop_nulls().first())
    rows = pl.concat([changed, filings], how="diagonal").join(names, on="unit_id", how="left")
    absent = [pl.lit(None).alias(name) for name in NEWS if name not in rows.columns]
    order = ["unit_id", "what", "year", *_KEYS.values()]
    return rows.with_columns(*absent).select(NEWS.names()).cast(NEWS).sort(order)


def _newer(then: State, now: State, name: str) -> pl.Series:
    """Return the ids with records, or found missing, above what a former point counts."""
    above = pl.col("version") > then.point.upto.get(name, 0)
    rows = now.scan(name).filter(above, pl.col("kind").is_in([RECORD, MISSING]))
    return rows.select(pl.col("id").unique()).collect()["id"]


def _rewritten(then: State, now: State, name: str, ids: pl.Series) -> pl.DataFrame:
    """Return the records, held in both states, that say something else than a day of change."""
    content = [
        pl.col(field).list.sort() if dtype == pl.List(pl.Int64) else pl.col(field)
        for field, dtype in schema_of(name).items()
        if field not in (*META, "id", wire.CHANGED, FILLED)
    ]
    text = pl.struct(content).struct.json_encode().alias("text")
    before, after = (state.records(name, ids)[0].with_columns(text) for state in (then, now))
    pairs = after.join(before.select("id", former="text"), on="id")
    return pairs.filter(pl.col("text") != pl.col("former"))


def _changed(before: pl.DataFrame, after: pl.DataFrame, *, given: bool) -> pl.DataFrame:
    """Return a row per unit whose record changed, with the names of the fields."""
    is_first = ~pl.col("id").is_in(before["id"].implode())
    later = after.filter(~is_first) if given else after
    versions = [
        before.with_columns(first=pl.lit(value=False), counted=pl.lit(value=False)),
        later.with_columns(first=is_first, counted=pl.lit(value=True)),
    ]
    changes = changes_of(pl.concat(versions)).filter(~pl.col("field").is_in(_LEFT_OUT))
    fields = changes.group_by(unit_id="id").agg(fields=pl.col("field").str.join(" "))
    return fields.with_columns(what=pl.lit("changed"))


def _named(state: State, units: pl.DataFrame, former: State | None = None) -> pl.DataFrame:
    """Return the filings that units name and that are not removed, as their records describe them.

    By unit and id: the columns of `FILINGS` that are known, nulls where a record is not held. What
    a former state did not hold may have been removed before: that it is so is no news.
    """
    frames = []
    for name, column in OWNED.items():
        key, listed = _KEYS[name], units.select(unit_id="id", id=column).explode("id").drop_nulls()
        records, stands = state.records(name, listed["id"].unique())
        gone = records.filter(pl.col("gone").is_not_null())["id"]
        if former is not None:
            gone = former.records(name, gone)[0]["id"]
        removed = pl.concat([gone, pl.Series("id", stands.ids[~stands.is_listed])])
        listed = listed.unique().filter(~pl.col("id").is_in(removed.implode())).rename({"id": key})
        if name == "statements":
            rows = pl.concat(
                filing_rules.by_rule(units, records, None, consolidated=consolidated)
                for consolidated in (False, True)
            )
            listed = listed.join(rows, on=["unit_id", key], how="left")
        else:
            rows = records.select(
                pl.col("id").alias(key), year=pl.col("obdobieDo").dt.year(), kind="typ",
                filed="datumPodania",
            )  # fmt: skip
            listed = listed.join(rows, on=key, how="left")
        frames.append(listed)
    return pl.concat(frames, how="diagonal")


def _filings(old: pl.DataFrame, new: pl.DataFrame, corrected: dict[str, pl.Series]) -> pl.DataFrame:
    """Return the filings that were named, are named no longer, or say something else."""
    on = list(_FILING)
    is_rewritten = pl.any_horizontal(
        pl.col(_KEYS[name]).is_in(ids.implode()).fill_null(value=False)
        for name, ids in corrected.items()
    )
    stayed = new.join(old, on=on, how="semi", nulls_equal=True)
    filings = {
        "new": new.join(old, on=on, how="anti", nulls_equal=True),
        "corrected": stayed.filter(is_rewritten),
        "gone": old.join(new, on=on, how="anti", nulls_equal=True),
    }
    rows = pl.concat(frame.with_columns(what=pl.lit(what)) for what, frame in filings.items())
    return rows.select("what", *_FILING, "year", "kind", "consolidated", "filed")


def _no_money() -> pl.DataFrame:
    columns = ["unit_id", "statement_id", *(name for name in NEWS if name.startswith(_MONEY))]
    return NEWS.to_frame().select(columns)


def _money(figures: Figures, units: pl.DataFrame, filings: pl.DataFrame) -> pl.DataFrame:
    """Return the figures of filings that are there, and those of their units of the year before."""
    wanted_ids = filings.filter(pl.col("what") != "gone").select("unit_id", "statement_id")
    owners = units.join(wanted_ids.drop_nulls(), left_on="id", right_on="unit_id", how="semi")
    columns = frozenset(["unit_id", "year", "statement_id", *_MONEY])
    frames = [_no_money()]
    for consolidated in (False, True):
        query = Query(Wanted(None, consolidated, items=_MONEY), columns)
        rows = pl.concat(list(figures.of(owners, query))).select(columns)
        former = rows.select("unit_id", pl.col("year") + 1, pl.col(_MONEY).name.suffix("_before"))
        rows = rows.join(former, on=["unit_id", "year"], how="left")
        frames.append(rows.join(wanted_ids, on=["unit_id", "statement_id"], how="semi"))
    return pl.concat([frame.select(frames[0].columns) for frame in frames])


def written_since_mark(mirror: LocalRegister, write: Callable[[pl.DataFrame], None]) -> None:
    """Write what is new since this was last called, if anything is, and then the mark of that.

    The mark is the id of a point, in a file beside the folder. Without one nothing is written.

    Raises:
        MirrorError: The mirror or the mark is damaged.
        UsageError: The mark cannot be written.
    """
    path = mirror.path.with_name(f"{mirror.path.name}.news.json")
    refuse_unwritable(path)  # else the same is written again and again
    with mirror._states.held() as state:
        try:
            mark = msgspec.json.decode(path.read_bytes(), type=str) if path.exists() else ""
        except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
            raise MirrorError(
                f"{path}, which keeps what was printed last, cannot be read: {error}",
                cure="delete it: the next call prints nothing and begins anew",
            ) from error
        if mark:
            try:
                point = point_since(state.run, mark)
            except UsageError as error:
                for log in _LOGS:
                    state.files(log)  # what is lost now, the next sync brings back
                warn(
                    f"what is new since the point in {path} is not known: {error}; the next call "
                    "prints what is new from now on"
                )
            else:
                news = news_since(state.former(point), state, mirror._figures(state))
                if news.height:
                    write(news)
        put(msgspec.json.encode(state.point.id) + b"\n", path)
