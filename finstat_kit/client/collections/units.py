"""The accounting units: the collection with filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Since
from finstat_kit.client.collections import finding, walk
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.collections.pages import Pages
from finstat_kit.errors import UsageError, warn
from finstat_kit.protocol import wire

if TYPE_CHECKING:
    from collections.abc import Sequence


class Units(Collection):
    """The accounting units: the only collection with filters."""

    def count(
        self,
        *,
        changed_since: Since = None,
        after_id: int = 0,
        ico: str | None = None,
        dic: str | None = None,
        legal_form_code: str | Sequence[str] | None = None,
    ) -> int:
        """Fetch the number of matching units.

        Advisory: the register changes while it is read, so a walk never relies on it.
        From ``/api/zostavajuce-id/uctovne-jednotky``.

        Args:
            changed_since: Only units changed on this day or later; None is everything.
            after_id: Only ids greater than this one.
            ico: Only units with this IČO, a text of 8 or 12 digits. It is not unique.
            dic: Only units with this DIČ, a text of 10 digits.
            legal_form_code: Only units of this legal form, a code of `legal_forms`, or of several;
                each takes a request of its own.

        Returns:
            The number of ids, deleted and non-public units included.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.count(changed_since="2026-06-01")
            323
        """
        filters = walk.filters_of(ico, dic, legal_form_code)
        return sum(
            walk.count(self._session, walk.query_of(self._session, self._name, changed_since,
                                                    after_id, None, of_form))
            for of_form in filters
        )  # fmt: skip

    def ids(
        self,
        *,
        changed_since: Since = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
        ico: str | None = None,
        dic: str | None = None,
        legal_form_code: str | Sequence[str] | None = None,
        connections: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch the ids of all matching units.

        From ``/api/uctovne-jednotky``, page by page until the register reports the end of the
        list.

        Args:
            changed_since: Only units changed on this day or later (the day itself included, as
                observed on the live register); None is everything.
            after_id: Only ids greater than this one: the cursor of an earlier walk.
            limit: Maximum number of ids; the lowest are returned.
            page_size: Ids per request, 1 to 10,000; None is the register's own setting.
            ico: Only units with this IČO, a text of 8 or 12 digits. It is not unique.
            dic: Only units with this DIČ, a text of 10 digits.
            legal_form_code: Only units of this legal form, a code of `legal_forms`, or of several,
                walked one after another; an error then has no ids, and the cursor of the beginning.
            connections: Concurrent requests, 1 to 256; None is the register's own setting. The
                ids are the same. A walk with a *limit*, or one that the register's rate holds
                back, uses one connection.
            progress: Show a bar; None shows one for a real host, on a terminal or in a notebook.

        Returns:
            One column ``id`` (Int64), ascending, without repeats.

        Raises:
            RegisterError: With ``.partial``, the ids so far, and ``.cursor`` to resume from.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.ids(changed_since="2026-06-30")["id"].head(3).to_list()
            [455863, 634274, 793996]
        """
        filters = walk.filters_of(ico, dic, legal_form_code)
        queries = [
            walk.query_of(self._session, self._name, changed_since, after_id, page_size, of_form)
            for of_form in filters
        ]
        return walk.ids_of_all(self._session, self._name, queries, limit, connections, progress)

    def pages(
        self,
        *,
        changed_since: Since = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
        ico: str | None = None,
        dic: str | None = None,
        legal_form_code: str | None = None,
    ) -> Pages:
        """Iterate over the ids of matching units, one frame per reply, in constant memory.

        The arguments are those of `ids`, with one legal form: pages of several would have no cursor
        in common. From ``/api/uctovne-jednotky``.

        Returns:
            An iterator of frames with one column ``id`` (Int64); see `Pages` for ``.cursor``.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     [page.height for page in fk.units.pages(page_size=8_000)]
            [8000, 8000, 4000]
        """
        filters, *others = walk.filters_of(ico, dic, legal_form_code)
        if others:
            raise UsageError(
                "has several codes, whose pages have no cursor in common",
                argument="legal_form_code", value=legal_form_code,
                cure="give one code per walk, or take fk.units.ids",
            )  # fmt: skip
        query = walk.query_of(
            self._session, self._name, changed_since, after_id, page_size, filters
        )
        return walk.pages(self._session, self._name, query, limit)

    def find(self, text: str, *, limit: int | None = 20) -> pl.DataFrame:
        """Find units by name, or by a number: IČO, DIČ or id.

        Each word of the text must be a word of the name or its beginning, in any order. Accents,
        case and signs do not matter, and a legal form at the end (*s. r. o.*, *a.s.*) may be absent
        from the name. A text of 8 or 12 digits is an IČO, of 10 a DIČ, any other number an id, or
        an IČO without its leading zeros; if no unit has the number, it is searched for in the
        names.

        Names are searched in the units of a sample or a mirror; the names of a mirror are read at
        the first search after each sync. The register itself has no search: there only numbers are
        found, with one request for the list and one per record.

        Args:
            text: Words of a name, or a number.
            limit: Maximum number of units, those that match best; None returns all matches.

        Returns:
            Records with the columns of `get`, the best match first: names that consist of the text,
            then those with its words as they are, in any order, and at the beginning; among equals
            the order of names without accents, then of ids. No match gives no rows.

        Raises:
            UsageError: *text* has no letters or digits, or the register has no search for names.

        Warns:
            UserWarning: More units match than *limit*; with their number.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.find("orol 510 sro skuska")["nazovUJ"].to_list()
            ...     fk.financials(fk.units.find("00372491"), 2015)["equity"].to_list()
            ['Skúška Orol 510, s. r. o.']
            [15900.0]
        """
        limit = None if limit is None else arguments.whole("limit", limit, 1, wire.MAX_ID)
        ids, number = finding.searched(self, text, limit)
        if ids.len() < number:
            best = f"the {ids.len():,} best of {number:,} units that match"
            warn(f"{best}; a greater limit returns more")
        return self.get(ids, errors="keep", progress=False)

    def _names(self) -> pl.DataFrame | None:
        """Return the names of all units; None where they would need the records of a register."""
        return None if self._session.copy is None else self._session.copy.names()
