"""The methods of a register over frames: labels for codes, counts by code, codes for names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import polars as pl

from finstat_kit.arguments import By, Lang
from finstat_kit.client.methods.codelists import Codelists
from finstat_kit.frames import comparison, counts, labels, matching, places


class Labelling(Codelists):
    """The methods of a register that take a frame and look codes up in its codelists."""

    @overload
    def resolve_labels(
        self,
        frame: pl.DataFrame,
        *,
        lang: Lang | None = None,
        columns: labels.Columns = None,
        front: bool = False,
    ) -> pl.DataFrame: ...
    @overload
    def resolve_labels(
        self,
        frame: pl.LazyFrame,
        *,
        lang: Lang | None = None,
        columns: labels.Columns = None,
        front: bool = False,
    ) -> pl.LazyFrame: ...
    def resolve_labels(
        self,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        lang: Lang | None = None,
        columns: labels.Columns = None,
        front: bool = False,
    ) -> pl.DataFrame | pl.LazyFrame:
        """Add the label behind each code, directly after the code's column.

        A code gets the label of the entry with exactly that code; without such an entry, null.

        Args:
            frame: Any frame with code columns; a LazyFrame stays lazy.
            lang: ``"sk"`` or ``"en"``; None is the register's own.
            columns: None for those of ``kraj``, ``okres``, ``sidlo`` that the frame has; a list
                of record fields, ``["kraj", "pravnaForma"]``; or a mapping of other columns to
                codelists, ``{"home": "regions"}``, which adds ``home_label``.
            front: Put the labels before all other columns, for reading.

        Returns:
            The same rows in the same order, with ``region``, ``district``, ``municipality``,
            ``legal_form``, ``activity``, ``ownership``, ``size_class`` (String) after their
            codes. An existing label column is replaced.

        Raises:
            UsageError: A column is missing, a code column is not String, or *frame* is not a
                polars frame.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.resolve_labels(pl.DataFrame({"kraj": ["SK031", "1"]}), lang="en")
            shape: (2, 2)
            ┌───────┬──────────────────┐
            │ kraj  ┆ region           │
            │ ---   ┆ ---              │
            │ str   ┆ str              │
            ╞═══════╪══════════════════╡
            │ SK031 ┆ Region of Žilina │
            │ 1     ┆ null             │
            └───────┴──────────────────┘
        """
        now = self._now()
        return labels.resolve_labels(
            frame, now._lookup, lang=now._language(lang), columns=columns, front=front
        )

    def unresolved_codes(
        self, frame: pl.DataFrame | pl.LazyFrame, *, columns: labels.Columns = None
    ) -> pl.DataFrame:
        """Count the codes of a frame without a label.

        Args:
            frame: Any frame with code columns.
            columns: As in `resolve_labels`.

        Returns:
            ``column``, ``code`` (String), ``count`` (Int64) and ``likely`` (String): today's code
            for an old one (``1``, ``103``, ``529354``), else null. `resolve_labels` never uses
            it.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.unresolved_codes(pl.DataFrame({"okres": ["613", "613", "SK0101"]})).row(0)
            ('okres', '613', 2, 'SK032D')
        """
        return labels.unresolved_codes(frame, self._now()._lookup, columns=columns)

    def count_by(
        self, frame: pl.DataFrame | pl.LazyFrame, by: By, *, lang: Lang | None = None
    ) -> pl.DataFrame:
        """Count the rows of a frame by code, including rows without a label.

        Args:
            frame: Records, or any frame with the column *by*.
            by: A code field: ``kraj``, ``okres``, ``sidlo``, ``pravnaForma``, ``skNace``,
                ``druhVlastnictva`` or ``velkostOrganizacie``.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.

        Returns:
            ``code``, ``label`` (String), ``count`` (Int64), ``share`` (Float64, 0 to 1, of all
            rows) and ``kind``: ``labelled`` by count descending, then by code; ``unknown code``;
            one row ``no code``; one row ``gone`` (rows with ``stav``). Counts add up to the height
            of the frame.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.count_by(pl.DataFrame({"kraj": ["SK010", None, "SK010"]}), "kraj").rows()
            [('SK010', 'Bratislavský kraj', 2, 0.666..., 'labelled'),
             (None, None, 1, 0.333..., 'no code')]
        """
        now = self._now()
        return counts.count_by(frame, by, now._lookup, lang=now._language(lang))

    def count_last_changes(
        self,
        units: pl.DataFrame | pl.LazyFrame,
        by: By = "kraj",
        *,
        every: counts.Every = "1mo",
        lang: Lang | None = None,
    ) -> pl.DataFrame:
        """Count units by the period of their **last** change and by code.

        This is not a time series of events: the register keeps only the latest change. A unit
        changed in February and again in May counts for May only, so earlier periods shrink on
        every later run.

        Args:
            units: Records, or any frame with ``datumPoslednejUpravy`` (Date) and the column *by*.
            by: A code field, as in `count_by`.
            every: Length of a period: ``"1d"``, ``"1w"`` (from Monday), ``"1mo"``, ``"1q"`` or
                ``"1y"``.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.

        Returns:
            ``period`` (Date, its first day; null for units without a date, last), ``code``,
            ``label`` (String), ``count`` (Int64, never 0: empty combinations have no row) and
            ``kind`` as in `count_by`, sorted by period, then as in `count_by`. Counts add up to
            the height of the frame.

        Raises:
            UsageError: A column is missing or has another type; *by*, *every* or *lang* is not one
                of the allowed values.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> from datetime import date
            >>> days = [date(2026, 3, 2), date(2026, 3, 30), date(2026, 5, 4)]
            >>> units = pl.DataFrame({"datumPoslednejUpravy": days, "kraj": ["SK010"] * 3})
            >>> with fk.using(fk.sample()):
            ...     fk.count_last_changes(units, lang="en").rows()
            [(datetime.date(2026, 3, 1), 'SK010', 'Region of Bratislava', 2, 'labelled'),
             (datetime.date(2026, 5, 1), 'SK010', 'Region of Bratislava', 1, 'labelled')]
        """
        now = self._now()
        return counts.count_last_changes(
            units, by, now._lookup, every=every, lang=now._language(lang)
        )

    def compare(
        self,
        a: pl.DataFrame | pl.LazyFrame,
        b: pl.DataFrame | pl.LazyFrame,
        by: By = "kraj",
        *,
        lang: Lang | None = None,
    ) -> pl.DataFrame:
        """Count two frames by code and align the counts; every row of both is counted.

        Args:
            a: Records, any frame with the column *by*, or counts as `count_by` returns them.
            b: The same, to compare with *a*.
            by: A code field, as in `count_by`; for counts, the field they were counted by.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.

        Returns:
            ``code``, ``label`` (String), ``count_a``, ``count_b``, ``difference`` (*b* minus *a*;
            Int64), ``share_a``, ``share_b`` (Float64, 0 to 1, of all rows of each; null where
            there are none) and ``kind``, in the order of `count_by` for *a*. ``no code`` and
            ``gone`` have one row each. `plot_counts` and `plot_map` draw it.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> a = pl.DataFrame({"kraj": ["SK010", "SK010", None]})
            >>> b = pl.DataFrame({"kraj": ["SK010", None, None, "SK042"]})
            >>> with fk.using(fk.sample()):
            ...     fk.compare(a, b).select("code", "count_a", "count_b", "difference").rows()
            [('SK010', 2, 1, -1), ('SK042', 0, 1, 1), (None, 1, 2, 1)]
        """
        now = self._now()
        lang = now._language(lang)
        return comparison.compared(
            *(comparison.counts_of(frame, by, now._lookup, lang) for frame in (a, b))
        )

    def match_places(
        self, names: pl.Series | Sequence[str], *, level: places.Level
    ) -> pl.DataFrame:
        """Match names or codes of places, in any spelling, with today's codes.

        To add a column of codes to other data:
        ``frame.with_columns(okres=fk.match_places(frame["Okres"], level="district")["code"])``.

        Args:
            names: Names or codes. Accents, case, dashes and words such as *okres* or *kraj* do
                not matter; English names and the codes used until 2018 are known too.
            level: Level of the places: ``"region"``, ``"district"`` or ``"municipality"``.

        Returns:
            One row per name, in the order given: ``given``, ``code`` (null if uncertain),
            ``name_sk``, ``how`` (``code``, ``old code``, ``name``, ``ambiguous``, ``unknown`` or
            ``missing``; all String) and ``candidates`` (List of String: the codes of places
            that share an ambiguous name).

        Raises:
            UsageError: *names* is neither a Series nor a list, or *level* is unknown.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     places = fk.match_places(["ziar n. hronom", "613", "Lučka"], level="district")
            >>> places.select("code", "how").rows()
            [('SK032D', 'name'), ('SK032D', 'old code'), (None, 'unknown')]
        """
        return matching.match(self._now().locations(), names, level)
