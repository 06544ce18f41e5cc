"""The accounting units of a register, and their search by name, number or place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.client import methods
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.collections.looked_up import records_of_given
from finstat_kit.client.source import Allowance
from finstat_kit.given_units import given_units


class Units(Collection):
    """The accounting units: they are found by name, number or place."""

    def get(
        self,
        ids: int | str | Iterable[int | str] | pl.Series | pl.DataFrame,
        *,
        errors: Literal["raise", "keep"] = "raise",
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch the records of units.

        From ``/api/uctovna-jednotka``, one request per unit, and one per IČO for the units that
        have it; a repeated one is fetched once. `fk.fields` lists the columns.

        Args:
            ids: Ids (whole numbers) or IČO (texts of 8 or 12 digits), one or several, a Series of
                either, or a frame with a column ``unit_id``, ``id`` or ``ico``, the first of these
                that it has. Of an IČO that several units share all are returned.
            errors: ``"keep"`` continues after an id without a record, or with one that breaks the
                register's format or cannot be had while others can; its row has the id alone. An
                IČO that no unit has is then a warning.
            max_requests: Maximum number of requests, two per IČO; None is 10,000 for a real host,
                to prevent an unintended wait of days, and no limit elsewhere.
            progress: Show a bar; None shows one for a real host, on a terminal or in a notebook.

        Returns:
            One row per unit, in the order requested, always with all columns, as of
            `Collection.get`.

        Raises:
            UsageError: A value is neither an id nor an IČO; more requests than *max_requests*.
            NotFound: Some ids have no record: ``.ids``; or no unit has an IČO; all others are in
                ``.partial``.
            ProtocolError: A record breaks the register's format; the message names id and field.
            RegisterError: With ``.partial``, the rows before the error.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.get(["00372491", 210]).select("id", "ico", "kraj").rows()
            [(365, '00372491', 'SK023'), (210, '00470439', 'SK010')]
        """
        arguments.one_of("errors", errors, ("raise", "keep"))
        allowance = Allowance(max_requests, progress)
        given = given_units(ids, "ids")
        return records_of_given(self._source, given, allowance, null_rows=errors == "keep")

    def find(
        self, text: str | Sequence[str] | pl.Series, *, limit: int | None = 20
    ) -> pl.DataFrame:
        """Find units by name, or by a number: IČO, DIČ, IČ DPH or id.

        Each word of the text must be a word of the name or its beginning, in any order. Accents,
        case and signs do not matter, and a legal form at the end (*s. r. o.*, *a.s.*) may be absent
        from the name. A number is sought as everything that it may be: an id (unless it begins with
        a zero), an IČO, with its leading zeros or without, a DIČ (10 digits, as IČ DPH behind
        ``SK``), and a word of a name (its beginning if nothing else matches). All units that match
        are returned.

        Names are searched in the units of a sample or a mirror; the names of a mirror are read at
        the first search after each sync. The register itself has no search: there only numbers are
        found, with one request for each kind of number that it may be, and one per record.

        Args:
            text: Words of a name, or a number; or several such texts. `fk.match_units` chooses one
                unit for each row of a list, where that is beyond doubt.
            limit: Maximum number of units for each text, those that match best; None returns all
                matches.

        Returns:
            Records with the columns of `get` and ``matched_by`` (Enum: ``id``, ``ico``, ``dic`` or
            ``name``, the first that applies), in the order of these, then the best match first:
            names that consist of the text, then those with its words as they are, in any order, and
            at the beginning; among equals the order of names without accents, then of ids. No match
            gives no rows. Of several texts those of each in their order, and the text in the column
            ``given`` (String).

        Raises:
            UsageError: *text* has no letters or digits, or more than 200 characters; or the
                register has no search for names.

        Warns:
            RegisterWarning: More units match than *limit*, with their number; or units match by
                more than one kind of number, or by a number and by name; or no unit matches one of
                several texts, or, where names and numbers are invented, the only one.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.find("orol 510 sro skuska")["nazovUJ"].to_list()
            ...     fk.financials(fk.units.find("00372491"), 2015)["equity"].to_list()
            ['Skúška Orol 510, s. r. o.']
            [15900.0]
        """
        return methods.find.find(self._source, text, limit)

    def town(
        self,
        places: str | Sequence[str] | pl.Series,
        *,
        level: Literal["municipality", "region"] = "municipality",
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch the unit that a municipality or a region is itself.

        By the code of its seat and its legal form (801 municipalities, 803 regions), never by its
        name. The parts of Bratislava and Košice are municipalities of their own. A register has no
        filter for seats: there the records of all units of the legal form are fetched, about 2,900
        municipalities, which a cache keeps; a sample and a mirror look them up.

        Args:
            places: A name or a code, or several, as of `match_places`.
            level: ``"municipality"`` or ``"region"``.
            max_requests: As in `get`.
            progress: As in `get`.

        Returns:
            Records with the columns of `get`, in the order given, each once.

        Raises:
            UsageError: A place is not known, or several have its name.
            NotFound: A place has no such unit, or several.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     town = fk.units.town("Nitra")
            >>> town.select("id", "nazovUJ", "mesto", "pravnaForma").row(0)
            (459817, 'Obec Maketa 262', 'Nitra', '801')
        """
        allowance = Allowance(max_requests, progress)
        return methods.match_units.town(self._source, places, level, allowance)
