"""The collections of a register: counts, ids, pages and records, and the search of units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.calls import Checked
from finstat_kit.client.collections.fetching import get_records
from finstat_kit.client.collections.listing import Pages, query_of, walked
from finstat_kit.client.source import Allowance, Source
from finstat_kit.protocol import wire

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, timedelta


class Collection(Checked):
    """One of the register's four collections: counts, ids, pages of ids, and records.

    ``fk.units``, ``fk.statements``, ``fk.reports`` and ``fk.annual_reports`` are those of the
    register that is current at each call.
    """

    def __init__(self, name: str, source: Source | None) -> None:
        self._name = name
        self._own_source = source

    @property
    def _source(self) -> Source:
        """What answers; the four of the package find that of the current register."""
        assert self._own_source is not None
        return self._own_source

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as the collection of the register, which may refuse."""
        return getattr, (self._source.session.register, self._name)

    def __repr__(self) -> str:
        return f"<collection {self._name}, /api/{wire.LISTS[self._name]}>"

    def count(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        ico: str | None = None,
        dic: str | None = None,
        legal_form_code: str | None = None,
    ) -> int:
        """Fetch the number of matching ids.

        Advisory: the register changes while it is read, so a walk never relies on it.
        From ``/api/zostavajuce-id/<list>``.

        Args:
            changed_since: Only ids changed on this day or later: a date, ``"2026-01-01"``,
                a `timedelta` or ``"-30d"`` back from the register's day; None is everything.
            after_id: Only ids greater than this one.
            ico: Only units with this IČO, a text of 8 or 12 digits. It is not unique. This and the
                next two are for units alone.
            dic: Only units with this DIČ, a text of 10 digits.
            legal_form_code: Only units of this legal form, a code of
                ``fk.codelist("legal_forms")``.

        Returns:
            The number of ids, those of deleted and non-public records included.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.statements.count(), fk.units.count(legal_form_code="112")
            (181433, 13665)
        """
        filters = ico, dic, legal_form_code
        return self._source.count(
            query_of(self._source, self._name, changed_since, after_id, None, *filters)
        )

    def ids(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
        ico: str | None = None,
        dic: str | None = None,
        legal_form_code: str | None = None,
        connections: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch all matching ids.

        From ``/api/<list>``, page by page until the register reports the end of the list.

        Args:
            changed_since: Only ids changed on this day or later (the day itself included, as
                observed on the live register); None is everything.
            after_id: Only ids greater than this one: the cursor of an earlier walk.
            limit: Maximum number of ids; the lowest are returned.
            page_size: Ids per request, 1 to 10,000; None is the register's own setting.
            ico: Only units with this IČO, a text of 8 or 12 digits. It is not unique. This and the
                next two are for units alone.
            dic: Only units with this DIČ, a text of 10 digits.
            legal_form_code: Only units of this legal form, a code of
                ``fk.codelist("legal_forms")``.
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
            ...     fk.statements.ids(limit=3)["id"].to_list()
            [1, 141, 215]
        """
        filters = ico, dic, legal_form_code
        query = query_of(self._source, self._name, changed_since, after_id, page_size, *filters)
        return walked(self._source, query, limit, connections, progress)

    def pages(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
        ico: str | None = None,
        dic: str | None = None,
        legal_form_code: str | None = None,
    ) -> Pages:
        """Iterate over the matching ids, one frame per reply, in constant memory.

        The arguments are those of `ids`. From ``/api/<list>``.

        Returns:
            An iterator of frames with one column ``id`` (Int64); see `Pages` for ``.cursor``.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     pages = fk.reports.pages(page_size=5_000)
            ...     first = next(pages)
            ...     pages
            <pages of reports: 5,000 ids so far, cursor 132031, more to come>
        """
        filters = ico, dic, legal_form_code
        query = query_of(self._source, self._name, changed_since, after_id, page_size, *filters)
        return Pages(self._source, query, limit)

    def scan(self, *, changed_since: str | date | timedelta | None = None) -> pl.LazyFrame:
        """Scan the records of a mirror or a sample lazily.

        Other registers take a request per record: `get` the records of some `ids`, or keep a
        `Mirror`. Filters by ``id`` and ``head(n)`` are applied before the records are read.

        Args:
            changed_since: Only records changed on this day or later; None is everything.

        Returns:
            A LazyFrame with the columns of `get`, by ascending id.

        Raises:
            UsageError: The register takes requests: a URL, a recording, a sample with ``cache=``.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     late = fk.units.scan().filter(pl.col("id") >= 2_618_000)
            ...     late.select("id", "kraj").collect().height
            6
        """
        source = self._source  # also of the records, when they are collected
        return source.scan(
            self._name, changed_since, getattr(source.session.register, self._name).get
        )

    def get(
        self,
        ids: int | Iterable[int] | pl.Series | pl.DataFrame,
        *,
        errors: Literal["raise", "keep"] = "raise",
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch the records of ids.

        From ``/api/uctovna-jednotka`` (units), ``/api/uctovna-zavierka`` (statements),
        ``/api/uctovny-vykaz`` (reports) or ``/api/vyrocna-sprava`` (annual reports), one request
        per id; a repeated id is fetched once. `fk.fields` lists the columns of each.

        Args:
            ids: An id, a list or Series of ids, or a frame with a column ``id``.
            errors: ``"keep"`` continues after an id without a record, or with one that breaks the
                register's format or cannot be had while others can; its row has the id alone.
            max_requests: Maximum number of requests; None is 10,000 for a real host, to prevent
                an unintended wait of days, and no limit elsewhere.
            progress: Show a bar; None shows one for a real host, on a terminal or in a notebook.

        Returns:
            One row per id, in the order requested, always with all columns: ``id`` (Int64), texts
            and codes (String), ``datum…`` (Date), ``konsolidovana`` (Boolean), lists of ids (List
            of Int64, not sorted). A field missing from the record is null; a deleted or non-public
            record has only ``id``, ``stav`` and ``datumPoslednejUpravy``. ``obdobieOd`` is the
            first day of its month and ``obdobieDo`` the last (Date). A report's ``titulnaStrana``
            is a Struct with all its fields, ``tabulky`` a List of Lists of String, each table's
            cells as they were sent, ``prilohy`` a List of Structs.

        Raises:
            UsageError: More requests than *max_requests*; the message states their duration.
            NotFound: Some ids have no record: ``.ids``; all others are in ``.partial``.
            ProtocolError: A record breaks the register's format; the message names id and field.
            RegisterError: With ``.partial``, the rows before the error.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.get([365, 210]).select("id", "ico", "kraj")
            ...     filed = fk.statements.get(fk.statements.ids(limit=2))
            ...     fk.reports.get(filed["idUctovnychVykazov"][0]).select("id", "idSablony").rows()
            shape: (2, 3)
            ┌─────┬──────────┬───────┐
            │ id  ┆ ico      ┆ kraj  │
            │ --- ┆ ---      ┆ ---   │
            │ i64 ┆ str      ┆ str   │
            ╞═════╪══════════╪═══════╡
            │ 365 ┆ 00372491 ┆ SK023 │
            │ 210 ┆ 00470439 ┆ SK010 │
            └─────┴──────────┴───────┘
            [(1, 21), (12, 22)]
        """
        arguments.one_of("errors", errors, ("raise", "keep"))
        return get_records(
            self._name,
            given_frames.ids(ids, of=self._name),
            self._source,
            Allowance(max_requests, progress),
            null_rows=errors == "keep",
        )
