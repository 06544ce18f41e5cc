"""The codelists of a register, and what stands on them: places, labels, counts by code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import polars as pl

from finstat_kit.arguments import By, Lang
from finstat_kit.frames import comparison, counts, labels, matching, places
from finstat_kit.protocol import wire


class Codelists:
    """The names of a register that stand on its codelists, and its citation.

    A `Register` answers them itself. The functions of the package are the bound methods of one
    object whose `_now` returns the current register.
    """

    def _now(self) -> Codelists:
        """Return the register that answers a call, the same one for the whole call."""
        return self

    def _codelist(self, name: str, refresh: bool) -> pl.DataFrame:
        raise NotImplementedError

    def _lookup(self, name: str) -> pl.DataFrame:
        return self._codelist(name, refresh=False)

    def _language(self, lang: Lang | None) -> Lang:
        """Return the language that an argument means: None is the register's."""
        raise NotImplementedError

    def _citation(self, lang: Lang) -> str:
        raise NotImplementedError

    def regions(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the regions (kraje).

        From ``/api/kraje``; fetched once a register.

        Args:
            refresh: Fetch again.

        Returns:
            ``code``, ``name_sk``, ``name_en``, ``parent_code`` (all String), sorted by code. A
            live list has more rows than the map: two entries stand for abroad.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.regions().head(2)
            shape: (2, 4)
            ┌───────┬───────────────────┬──────────────────────┬─────────────┐
            │ code  ┆ name_sk           ┆ name_en              ┆ parent_code │
            │ ---   ┆ ---               ┆ ---                  ┆ ---         │
            │ str   ┆ str               ┆ str                  ┆ str         │
            ╞═══════╪═══════════════════╪══════════════════════╪═════════════╡
            │ SK010 ┆ Bratislavský kraj ┆ Region of Bratislava ┆ null        │
            │ SK021 ┆ Trnavský kraj     ┆ Region of Trnava     ┆ null        │
            └───────┴───────────────────┴──────────────────────┴─────────────┘
        """
        return self._now()._codelist("regions", refresh)

    def districts(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the districts (okresy), from ``/api/okresy``; otherwise as `regions`.

        ``parent_code`` is the region's code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.districts().height
            79
        """
        return self._now()._codelist("districts", refresh)

    def municipalities(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the municipalities (sídla), from ``/api/sidla``; otherwise as `regions`.

        ``parent_code`` is the district's code, null on a few. Names repeat: never join on a name.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.municipalities()["name_sk"].to_list().count("Lúčka")
            4
        """
        return self._now()._codelist("municipalities", refresh)

    def legal_forms(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the legal forms, from ``/api/pravne-formy``.

        Returns:
            ``code``, ``name_sk``, ``name_en`` (all String), sorted by code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.legal_forms().row(3)
            ('112', 'Spol. s r. o.', 'Limited liability comp.')
        """
        return self._now()._codelist("legal_forms", refresh)

    def activities(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the economic activities (SK NACE), from ``/api/sk-nace``; as `legal_forms`.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.activities().row(0)
            ('01110', 'Pestov.obilnín', 'Growing of cereals')
        """
        return self._now()._codelist("activities", refresh)

    def ownership_types(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the types of ownership, from ``/api/druhy-vlastnictva``; as `legal_forms`.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.ownership_types().row(2)
            ('2', 'Súkromné tuzemské', 'Private inland')
        """
        return self._now()._codelist("ownership_types", refresh)

    def size_classes(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the size classes, from ``/api/velkosti-organizacie``; as `legal_forms`.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.size_classes().row(2)
            ('02', '1 zamestnanec', '1 employees')
        """
        return self._now()._codelist("size_classes", refresh)

    def locations(self, *, refresh: bool = False) -> pl.DataFrame:
        """Put regions, districts and municipalities into one frame, with the path up.

        From ``/api/kraje``, ``/api/okresy`` and ``/api/sidla``.

        Returns:
            ``level`` (``region``, ``district``, ``municipality``), ``code``, ``name_sk``,
            ``name_en``, ``parent_code``, ``district_code``, ``region_code`` (all String); the last
            two are filled for the entry's own level too and null where a parent is missing.
            Regions first, each level sorted by code.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.locations().row(10)
            ('district', 'SK0101', 'Bratislava I', 'Bratislava I', 'SK010', 'SK0101', 'SK010')
        """
        now = self._now()
        return places.locations(
            *(now._codelist(name, refresh) for name in ("regions", "districts", "municipalities"))
        )

    def find_places(self, text: str, level: places.Level | None = None) -> pl.DataFrame:
        """Search regions, districts and municipalities by name or code.

        Args:
            text: Part of a name, accents and case ignored, or the beginning of a code.
            level: Only this level: ``"region"``, ``"district"`` or ``"municipality"``.

        Returns:
            ``level``, ``code``, ``name_sk``, ``name_en``, ``district``, ``region`` (Slovak names
            of the path up); all String. First what begins so, then what has a word that does,
            then any other hit.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.find_places("ziar", level="municipality").row(0)[1:5]
            ('SK032D516589', 'Žiar nad Hronom', 'Žiar nad Hronom', 'Žiar nad Hronom')
        """
        return places.find(self.locations(), text, level)

    def codelists(self) -> pl.DataFrame:
        """List the seven codelists and what each is for. Asks nothing of the register.

        Returns:
            ``name`` (of the function), ``endpoint``, ``source`` (list of the Statistical Office,
            null where not known), ``field`` (of the records) and ``label`` (the column that
            `resolve_labels` adds); all String.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.codelists().row(0)
            ('regions', '/api/kraje', '0023/RSUJ3', 'kraj', 'region')
        """
        rows = [
            (c.name, f"/api/{c.endpoint}", c.source, c.field, c.label)
            for c in wire.CODELISTS.values()
        ]
        names = ("name", "endpoint", "source", "field", "label")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")

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

        The rule is equality of codes and nothing else; what has no entry gets null.

        Args:
            frame: Any frame with code columns; a LazyFrame stays lazy.
            lang: ``"sk"`` or ``"en"``; None is the register's own.
            columns: Which columns: None for those of ``kraj``, ``okres``, ``sidlo`` that are
                there; a list of record fields, ``["kraj", "pravnaForma"]``; or a mapping of your
                own columns to codelists, ``{"home": "regions"}``, which adds ``home_label``.
            front: Put the labels before all other columns, for reading.

        Returns:
            The same rows in the same order, with ``region``, ``district``, ``municipality``,
            ``legal_form``, ``activity``, ``ownership``, ``size_class`` (String) after their
            codes. A label column that is there already is replaced.

        Raises:
            UsageError: No such column, a code column that is not text, or not a polars frame.

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
        """Tell which codes of a frame have no label, and how often they stand there.

        Args:
            frame: Any frame with code columns.
            columns: As in `resolve_labels`.

        Returns:
            ``column``, ``code`` (String), ``count`` (Int64) and ``likely`` (String): today's code
            where the code is an old one (``1``, ``103``, ``529354``), else null. `resolve_labels`
            never uses it.

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
        """Count the rows of a frame by code; every row is counted, also those without a label.

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

        No series of events: the register keeps only the latest change. A unit changed in February
        and again in May has left February, so earlier periods shrink on every later run.

        Args:
            units: Records, or any frame with ``datumPoslednejUpravy`` (Date) and the column *by*.
            by: A code field, as in `count_by`.
            every: Length of a period: ``"1d"``, ``"1w"`` (from Monday), ``"1mo"``, ``"1q"`` or
                ``"1y"``.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.

        Returns:
            ``period`` (Date, its first day; null for units without a date, last), ``code``,
            ``label`` (String), ``count`` (Int64, never 0: what did not occur has no row) and
            ``kind`` as in `count_by`, sorted by period, then as there. Counts add up to the
            height of the frame.

        Raises:
            UsageError: No such column, or one of another type; another *by*, *every* or *lang*.

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
        """Count two frames by code and align the counts; no row of either is dropped.

        Args:
            a: Records, any frame with the column *by*, or counts as `count_by` returns them.
            b: The same, to compare with *a*.
            by: A code field, as in `count_by`; of counts the one that they were made by.
            lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's own.

        Returns:
            ``code``, ``label`` (String), ``count_a``, ``count_b``, ``difference`` (*b* minus *a*;
            Int64), ``share_a``, ``share_b`` (Float64, 0 to 1, of all rows of each; null where
            there are none) and ``kind``, in the order of `count_by` for *a*. ``no code`` and
            ``gone`` are a row each. `plot_counts` and `plot_map` draw it.

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

        A column of codes for one's own data is
        ``frame.with_columns(okres=fk.match_places(frame["Okres"], level="district")["code"])``.

        Args:
            names: Names or codes. Accents, case, dashes and words such as *okres* or *kraj* do
                not matter; English names and the codes used until 2018 are known too.
            level: What the names are names of: ``"region"``, ``"district"`` or
                ``"municipality"``.

        Returns:
            A row per name, in the order given: ``given``, ``code`` (null where it is not sure),
            ``name_sk``, ``how`` (``code``, ``old code``, ``name``, ``ambiguous``, ``unknown`` or
            ``missing``; all String) and ``candidates`` (List of String: the codes of places
            that share an ambiguous name).

        Raises:
            UsageError: Neither a Series nor a list, or another level.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     places = fk.match_places(["ziar n. hronom", "613", "Lučka"], level="district")
            >>> places.select("code", "how").rows()
            [('SK032D', 'name'), ('SK032D', 'old code'), (None, 'unknown')]
        """
        return matching.match(self._now().locations(), names, level)

    def cite(self, *, lang: Lang | None = None) -> str:
        """Write one line for a footnote: the register, its URL and licence, and when it answered.

        The only text of this package that carries the time. A sample's says that it is invented.

        Args:
            lang: ``"sk"`` or ``"en"``; None is the register's own.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     print(fk.cite(lang="en"))
            Invented data of the finstat_kit sample (20,000 units, as of 2026-06-30), not of the
            Register of Financial Statements.
        """
        now = self._now()
        return now._citation(now._language(lang))
