"""The collections of a register: counts, ids, pages and records, and the search of units."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.calls import Checked
from finstat_kit.client.collections import walk
from finstat_kit.client.collections.fetching import get_records
from finstat_kit.client.collections.walk import Pages
from finstat_kit.client.session import Session
from finstat_kit.errors import UsageError, invalid, value_in_python, warn
from finstat_kit.frames.text import unit_names
from finstat_kit.protocol import wire
from finstat_kit.protocol.company_numbers import DIC, digits_in, with_zeros
from finstat_kit.protocol.records import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date, timedelta


_MATCHES: Final = pl.Schema({"id": pl.Int64(), "matched_by": unit_names.MATCHED_BY})
_MOST_UNITS_LISTED: Final = 10  # units in an error


class Collection(Checked):
    """One of the register's four collections: counts, ids, pages of ids, and records.

    ``fk.units``, ``fk.statements``, ``fk.reports`` and ``fk.annual_reports`` are those of the
    register that is current at each call.
    """

    def __init__(self, name: str, session: Session) -> None:
        self._name = name
        self._session = session

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as the collection of the register, which may refuse."""
        return getattr, (self._session.register, self._name)

    def __repr__(self) -> str:
        return f"<collection {self._name}, /api/{wire.LISTS[self._name]}>"

    def count(
        self, *, changed_since: str | date | timedelta | None = None, after_id: int = 0
    ) -> int:
        """Fetch the number of matching ids.

        Advisory: the register changes while it is read, so a walk never relies on it.
        From ``/api/zostavajuce-id/<list>``.

        Args:
            changed_since: Only ids changed on this day or later: a date, ``"2026-01-01"``,
                a `timedelta` or ``"-30d"`` back from the register's day; None is everything.
            after_id: Only ids greater than this one.

        Returns:
            The number of ids.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.statements.count()
            181433
        """
        query = walk.query_of(self._session, self._name, changed_since, after_id)
        number = walk.count(self._session, query)
        walk.warn_if_empty(self._session, changed_since, query, number)
        return number

    def ids(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
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
        query = walk.query_of(self._session, self._name, changed_since, after_id, page_size)
        frame = walk.ids(self._session, self._name, query, limit, connections, progress)
        walk.warn_if_empty(self._session, changed_since, query, frame.height, limit)
        return frame

    def pages(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
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
        query = walk.query_of(self._session, self._name, changed_since, after_id, page_size)
        return walk.pages(self._session, self._name, query, limit)

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
        session, name = self._session, self._name
        if not session.at_hand:
            raise UsageError(
                "a scan needs all records at hand, as a mirror or a sample has them; this register "
                "takes a request for each",
                cure=f"fetch those you need, fk.{name}.get(fk.{name}.ids(changed_since=…)), or "
                "keep a copy: fk.Mirror('ruz').sync()",
            )
        query = walk.query_of(session, name, changed_since)
        if (records := session.source.all_records(name)) is not None:
            changed = pl.col(wire.CHANGED) >= query.changed_since
            return (records if changed_since is None else records.filter(changed)).sort("id")
        ids = walk.ids(session, name, query, connections=1, progress=False)
        # An unreadable record of a mirror hides no other.
        errors: Literal["raise", "keep"] = "raise" if session.source.cost else "keep"
        return ids.lazy().map_batches(
            partial(self.get, errors=errors),
            schema=KINDS[name].schema,
            predicate_pushdown=True,  # a row is one id, so that filters by id and head() come first
            slice_pushdown=True,
            streamable=True,
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
            self._session,
            keep=errors == "keep",
            max_requests=max_requests,
            progress=progress,
        )


class Units(Collection):
    """The accounting units: the only collection with filters."""

    def count(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        ico: str | Sequence[str] | None = None,
        dic: str | Sequence[str] | None = None,
        legal_form_code: str | Sequence[str] | None = None,
    ) -> int:
        """Fetch the number of matching units.

        Advisory: the register changes while it is read, so a walk never relies on it.
        From ``/api/zostavajuce-id/uctovne-jednotky``.

        Args:
            changed_since: Only units changed on this day or later; None is everything.
            after_id: Only ids greater than this one.
            ico: Only units with this IČO, a text of 8 or 12 digits, or with one of several. It is
                not unique. Each takes a request of its own.
            dic: Only units with this DIČ, a text of 10 digits, or with one of several.
            legal_form_code: Only units of this legal form, a code of
                ``fk.codelist("legal_forms")``, or of several; each takes a request of its own.

        Returns:
            The number of ids, deleted and non-public units included.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.count(changed_since="2026-06-01")
            323
        """
        queries = [
            walk.query_of(self._session, self._name, changed_since, after_id, None, filters)
            for filters in walk.filters_of(ico, dic, legal_form_code)
        ]
        number = sum(walk.count(self._session, query) for query in queries)
        walk.warn_if_empty(self._session, changed_since, queries[0], number)
        return number

    def ids(
        self,
        *,
        changed_since: str | date | timedelta | None = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
        ico: str | Sequence[str] | None = None,
        dic: str | Sequence[str] | None = None,
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
            ico: Only units with this IČO, a text of 8 or 12 digits, or with one of several. It is
                not unique. Each takes a request of its own.
            dic: Only units with this DIČ, a text of 10 digits, or with one of several.
            legal_form_code: Only units of this legal form, a code of
                ``fk.codelist("legal_forms")``, or of several, walked one after another; an error
                then has no ids, and the cursor of the beginning.
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
        queries = [
            walk.query_of(self._session, self._name, changed_since, after_id, page_size, filters)
            for filters in walk.filters_of(ico, dic, legal_form_code)
        ]
        frame = walk.ids_of_all(self._session, self._name, queries, limit, connections, progress)
        walk.warn_if_empty(self._session, changed_since, queries[0], frame.height, limit)
        return frame

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
        """Iterate over the ids of matching units, one frame per reply, in constant memory.

        The arguments are those of `ids`, with one number and one legal form: pages of several would
        have no cursor in common. From ``/api/uctovne-jednotky``.

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
            several = {"ico": ico, "dic": dic, "legal_form_code": legal_form_code}
            raise invalid(
                next(n for n, x in several.items() if x is not None and not isinstance(x, str)),
                ...,
                "has several values, whose pages have no cursor in common",
                give="one per walk, or take fk.units.ids",
            )
        query = walk.query_of(
            self._session, self._name, changed_since, after_id, page_size, filters
        )
        return walk.pages(self._session, self._name, query, limit)

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
                several texts.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.units.find("orol 510 sro skuska")["nazovUJ"].to_list()
            ...     fk.financials(fk.units.find("00372491"), 2015)["equity"].to_list()
            ['Skúška Orol 510, s. r. o.']
            [15900.0]
        """
        limit = None if limit is None else arguments.whole("limit", limit, 1, wire.MAX_ID)
        several = isinstance(text, list | tuple | pl.Series)
        texts: list[str] = list(text) if several else [text]  # type: ignore[list-item]
        if all(isinstance(one, str) for one in texts):  # else an error names it
            texts = list(dict.fromkeys(texts))
        found = [self._matches(one, limit).with_columns(given=pl.lit(one)) for one in texts]
        matches = pl.concat([_MATCHES.to_frame().with_columns(given=pl.lit("")), *found])
        if several and (
            absent := [one for one, of in zip(texts, found, strict=True) if not of.height]
        ):
            shown = ", ".join(map(value_in_python, absent[:5])) + (" …" if len(absent) > 5 else "")
            warn(f"no unit matches {len(absent):,} of {len(texts):,} texts: {shown}")
        records = self.get(matches, errors="keep", progress=False)
        return records.with_columns(matches.select("matched_by", *(["given"] if several else [])))

    def _matches(self, text: str, limit: int | None) -> pl.DataFrame:
        """Return `search_units`, with a warning where more match, or by several kinds."""
        matches, numbers = search_units(self, text, limit)
        if len(numbers) > 1:
            kinds = " and ".join(f"by {kind} ({n:,})" for kind, n in numbers.items())
            warn(f"units match {value_in_python(text)} {kinds}: see the column matched_by")
        if matches.height < (number := sum(numbers.values())):
            best = f"the {matches.height:,} best of {number:,} units that match"
            warn(f"{best}; a greater limit returns more")
        return matches

    def of_place(
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
            ...     town = fk.units.of_place("Nitra")
            >>> town.select("id", "nazovUJ", "mesto", "pravnaForma").row(0)
            (459817, 'Obec Maketa 262', 'Nitra', '801')
        """
        from finstat_kit.client.methods import match_units

        return match_units.of_place(
            self._session, self, places, level, max_requests=max_requests, progress=progress
        )


def matching_units(
    units: Units, text: str, limit: int | None, argument: str = "text"
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the units that match a text, and how many there are.

    Args:
        units: Of the register.
        text: As given, see `Units.find`.
        limit: Maximum number of units, None for all.
        argument: What the text is given by.

    Returns:
        ``id`` and ``matched_by``, best first, each unit once; the number of all units by the kind
        of match, without those of which there are none.
    """
    arguments.sought(argument, text, "words of a name, an IČO, a DIČ or an id, as text")
    meanings = numbers_meant(text)
    by_kind = {kind: _ids_with_number(units._session, kind, meanings[kind]) for kind in meanings}
    matches = pl.concat([_MATCHES.to_frame(), *(_matches(by_kind[kind], kind) for kind in by_kind)])
    matches = matches.unique("id", keep="first", maintain_order=True)
    named = 0
    if (names := units._session.source.names()) is not None:
        others = names.filter(~pl.col("id").is_in(matches["id"].implode()))
        # An id has few digits, with which hundreds of words may begin.
        ids, named = unit_names.matching(others, text, limit, whole=matches.height > 0)
        matches = pl.concat([matches, _matches(ids, "name")])
    elif not meanings:
        raise invalid(
            argument,
            ...,
            f": {value_in_python(text)} is a name, and the register has no search for names",
            cure="search a mirror, fk.use('mirror:FOLDER') after fk.Mirror('FOLDER').sync(), or "
            "give an IČO, as text or by ico=",
        )
    numbers = dict(matches["matched_by"].value_counts(sort=False).sort("matched_by").iter_rows())
    numbers |= {"name": named} if named else {}
    return matches.head(matches.height if limit is None else limit), numbers


def search_units(
    units: Units, text: str, limit: int | None, argument: str = "text"
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return `matching_units`, with a warning where a mirror that is a part has none."""
    matches, numbers = matching_units(units, text, limit, argument)
    ids, source = matches["id"], units._session.source
    if ids.is_empty() and (why := source.why_missing("units", ids)):
        warn(f"no unit matches{why}")
    return matches, numbers


def numbers_meant(text: str) -> dict[str, str]:
    """Return what a text is as a number, by kind, as the register writes it; {} for other texts.

    >>> numbers_meant("61 387")
    {'id': '61387', 'ico': '00061387'}
    >>> numbers_meant("sk2020123456")
    {'dic': '2020123456'}
    """
    number = digits_in(text)
    if number is None:
        return {}
    digits, is_vat = number
    if is_vat:
        return {"dic": digits} if len(digits) in DIC else {}
    meanings = {}
    if str(int(digits)) == digits and int(digits) <= wire.MAX_ID:
        meanings["id"] = digits
    if (ico := with_zeros(digits)) is not None:
        meanings["ico"] = ico
    if len(digits) in DIC:
        meanings["dic"] = digits
    return meanings


def _matches(ids: pl.Series, kind: str) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(matched_by=pl.lit(kind, unit_names.MATCHED_BY))


def _ids_with_number(session: Session, kind: str, number: str) -> pl.Series:
    """Return the ids of the units with an IČO, a DIČ or an id."""
    if (records := session.source.all_records("units")) is not None:
        value: int | str = int(number) if kind == "id" else number
        return records.filter(pl.col(kind) == value).select("id").collect()["id"].sort()
    if kind == "id":  # the first one after the id below
        query = walk.query_of(session, "units", None, max(int(number) - 1, 0), 1)
        ids = walk.ids(session, "units", query, 1, progress=False)["id"]
        return ids.filter(ids == int(number))
    (filters,) = walk.filters_of(**{**dict.fromkeys(wire.FILTERS), kind: number})
    query = walk.query_of(session, "units", None, filters=filters)
    return walk.ids(session, "units", query, progress=False)["id"]


def unit_of(units: Units, text: str, argument: str, quoted: Callable[[str], str] = str) -> int:
    """Return the id of the only unit that matches a text; names count where no number matches.

    Args:
        units: Of the register.
        text: As given, see `Units.find`.
        argument: What the text is given by.
        quoted: How an error shows what filers wrote.

    Raises:
        UsageError: There is none, or there are several, of which the best matches are listed.
    """
    matches, numbers = search_units(units, text, _MOST_UNITS_LISTED, argument)
    if set(numbers) != {"name"}:
        matches = matches.filter(pl.col("matched_by") != "name")
        numbers.pop("name", None)
    records = units.get(matches, errors="keep", progress=False)
    cure = "give the IČO of one" + (", with all its zeros" if len(numbers) > 1 else " or its id")
    return int(one_unit(records, argument, text, sum(numbers.values()), cure, quoted)["id"].item())


def one_unit(
    records: pl.DataFrame,
    argument: str,
    value: object = ...,
    number: int | None = None,
    cure: str = "give the id of one",
    quoted: Callable[[str], str] = str,
) -> pl.DataFrame:
    """Return the record of one unit.

    Args:
        records: Records of units.
        argument: Name of the argument that names the unit.
        value: Its value.
        number: How many units there are, None for those given.
        cure: What to do where there are several.
        quoted: How an error shows what filers wrote.

    Raises:
        UsageError: There is none, or there are several, which are listed.
    """
    number = records.height if number is None else number
    if number == 1:
        return records
    if number == 0:
        raise invalid(argument, value, ": there is no such unit", give="an IČO or an id")
    lines = [
        ", ".join(filter(None, [str(id_), name and quoted(name), ico, place and quoted(place)]))
        for id_, name, ico, place in records.select("id", "nazovUJ", "ico", "mesto")
        .head(_MOST_UNITS_LISTED)
        .iter_rows()
    ]
    if number > len(lines):
        lines.append(f"… and {number - len(lines):,} more")
    raise invalid(
        argument, value, f": these are {number:,} units", cure="\n  ".join([f"{cure}:", *lines])
    )
