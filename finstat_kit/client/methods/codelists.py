"""The codelists of a register: regions to size classes, all places, the search in them."""

from __future__ import annotations

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.client.keywords import Checked
from finstat_kit.frames import places
from finstat_kit.protocol import wire


class Codelists(Checked):
    """The codelists of a register, and its citation.

    A `Register` is its own source. The functions of the package are bound methods of one object
    whose `_now` returns the current register.
    """

    def _now(self) -> Codelists:
        """Return the register to use, the same one for the whole call."""
        return self

    def _codelist(self, name: str, refresh: bool) -> pl.DataFrame:
        raise NotImplementedError

    def _lookup(self, name: str) -> pl.DataFrame:
        return self._codelist(name, refresh=False)

    def _language(self, lang: Lang | None) -> Lang:
        """Resolve a language argument: None is the register's."""
        raise NotImplementedError

    def _citation(self, lang: Lang) -> str:
        raise NotImplementedError

    def regions(self, *, refresh: bool = False) -> pl.DataFrame:
        """Fetch the regions (kraje).

        From ``/api/kraje``; fetched once per register.

        Args:
            refresh: Fetch again.

        Returns:
            ``code``, ``name_sk``, ``name_en``, ``parent_code`` (all String), sorted by code. The
            live list has two entries for places abroad beside the eight regions.

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
        """Fetch regions, districts and municipalities as one frame, with the codes above each.

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
            of the places above); all String. Names that begin with the text come first, then
            names with a word that does, then all other matches.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.find_places("ziar", level="municipality").row(0)[1:5]
            ('SK032D516589', 'Žiar nad Hronom', 'Žiar nad Hronom', 'Žiar nad Hronom')
        """
        return places.find(self.locations(), text, level)

    def codelists(self) -> pl.DataFrame:
        """List the seven codelists and their use. Sends no request.

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

    def cite(self, *, lang: Lang | None = None) -> str:
        """Return one line for a footnote: register, URL, licence, and time of replies.

        No other output of this package contains the time. For a sample the line states that the
        data are invented.

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
