"""The report of the previous period in the same frame of reports."""

from __future__ import annotations

from typing import Final

import polars as pl

# Fields of the title page: whose report it is, and of which period.
_OWNER: Final = {
    "ico": pl.String(), "nazovSpravcovskehoFondu": pl.String(), "konsolidovana": pl.Boolean(),
}  # fmt: skip
_PERIOD: Final = dict.fromkeys(("obdobieOd", "obdobieDo", "predchadzajuceObdobieDo"), pl.Date())
_KEY: Final = ["idSablony", *_OWNER]


def former_reports(reports: pl.DataFrame) -> pl.DataFrame:
    """Return the place of each report and of its former report, grouped by unit.

    The former report has the same unit, form, fund and kind of consolidation, and its period ends
    on the day that the title page gives for the previous period. Of several, such as a report and
    its correction, it is the one with the highest id.

    Args:
        reports: Records; without ``titulnaStrana`` no report has a former one.

    Returns:
        ``place`` and ``former`` (Int64, null if the frame has none).
    """
    page = pl.col("titulnaStrana").struct
    dtype = reports.schema.get("titulnaStrana")
    fields = {field.name for field in dtype.fields} if isinstance(dtype, pl.Struct) else ()
    described = reports.select(
        "id",
        "idSablony",
        *(
            (page.field(name) if name in fields else pl.lit(None).alias(name)).cast(
                kind, strict=False
            )
            for name, kind in (_OWNER | _PERIOD).items()
        ),
        place=pl.int_range(pl.len()),
    ).with_columns(
        pl.col("konsolidovana").fill_null(value=False),
        pl.col("nazovSpravcovskehoFondu").fill_null(""),
        before=pl.coalesce("predchadzajuceObdobieDo", pl.col("obdobieOd").dt.offset_by("-1d")),
    )
    earlier = (
        described.sort("id")
        .unique([*_KEY, "obdobieDo"], keep="last")
        .select(*_KEY, before="obdobieDo", former="place")
    )
    return (
        described.join(earlier, on=[*_KEY, "before"], how="left")
        .sort(*_KEY, "obdobieDo", "place")
        .select("place", "former")
    )
