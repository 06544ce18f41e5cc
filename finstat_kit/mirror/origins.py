"""The register of a mirror, and whether another one may continue it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from finstat_kit.client.register import Register
from finstat_kit.errors import Either, Interrupted, UsageError
from finstat_kit.mirror.folder import FORMAT, HERE, About, Origin
from finstat_kit.mirror.held import Held
from finstat_kit.protocol import wire
from finstat_kit.protocol.requests import Request
from finstat_kit.protocol.wire import BEGINNING

# A codelist of ten entries; only the header of its reply is read.
_SMALL: Final = Request(f"/api/{wire.CODELISTS['ownership_types'].endpoint}", lambda body: None)


def origin_of(register: Register, about: About | None, path: Path) -> Origin:
    """Identify a register by one request.

    Raises:
        UsageError: It is a real host other than the mirror's; that needs no request.
        RegisterError: It does not reply.
    """
    session = register._session
    if about is not None and session.remote and register.base_url != about.origin.register:
        raise _another(path, about.origin.name, register.base_url)
    try:
        session.exchange.get(_SMALL)
    except KeyboardInterrupt as interrupt:
        raise Interrupted("interrupted before anything was fetched") from interrupt
    return Origin(register.base_url, session.exchange.invented or None)


def agreed(
    about: About | None, origin: Origin, held: Held, since: date | None, *, full: bool
) -> tuple[About, bool]:
    """Return the settings of the mirror, and whether its data may be of another register.

    Args:
        about: Content of ``mirror.json``.
        origin: The register to continue with.
        held: The tables, as committed.
        since: First day of change of a new mirror.
        full: Whether everything is fetched again, so that the former register does not matter.

    Raises:
        UsageError: The register is not the mirror's, or may not be, or it is an extract.
    """
    if about is not None and about.origin.register != HERE:
        if about.origin.name != origin.name:
            raise _another(held.path, about.origin.name, origin.name)
        return replace(about, format=FORMAT), False
    states = [table.state() for table in held.lists.values() if table.state()]
    if any("extract" in state for state in states):
        raise UsageError(
            f"{held.path} is an extract, which no sync brings in step, and its mirror.json is lost",
            cure="remove the folder, and extract again from the mirror that it was taken from",
        )
    numbers = {state.get("register") for state in states}
    known = about is None and None not in numbers
    if known and numbers - {origin.number}:
        raise _another(held.path, "another register", origin.name)
    if states and not known and not full:
        cure = "if it is {}, resume with {}, which compares all of it, or give another folder"
        raise UsageError(
            f"the mirror at {held.path} does not record which register it is of",
            cure=Either(
                cure.format(origin.name, "sync(full=True)"), cure.format(origin.name, "sync --full")
            ),
        )
    if about is not None:
        since = about.changed_since
    elif states:
        # Windows of later runs do not show the first day of change of the copy.
        whole = [state for state in states if state["full"] or state["run"] == 1]
        windows = [date.fromordinal(state["since"]) for state in whole]
        since = min([*windows, *held.all_runs()["since"].drop_nulls()], default=since)
    contents = about.contents if about is not None else _kept(held)
    return About(origin, since or BEGINNING, contents=contents), bool(states) and not known


def _kept(held: Held) -> tuple[str, ...]:
    """Return the collections with records, according to the runs and the tables."""
    runs = held.all_runs()
    return tuple(
        name
        for name, table in held.contents.items()
        # A table may have been removed, a sync may have ended before its run was recorded.
        if table.refresh() or runs[f"version_{name}"].is_not_null().any()
    )


def _another(path: Path, former: str, new: str) -> UsageError:
    return UsageError(
        f"the mirror at {path} is of {former}, not of {new}",
        cure="give its register or another folder",
    )
