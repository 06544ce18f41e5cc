"""Which register a mirror is of, and whether another one may go on with it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

from finstat_kit.client.register import Register
from finstat_kit.errors import Interrupted, UsageError
from finstat_kit.mirror.folder import HERE, About, Origin
from finstat_kit.mirror.held import Held
from finstat_kit.protocol import wire
from finstat_kit.protocol.requests import Request
from finstat_kit.protocol.wire import BEGINNING

# A codelist of ten entries; only the header of its reply is read.
_SMALL: Final = Request(f"/api/{wire.CODELISTS['ownership_types'].endpoint}", lambda body: None)


def origin_of(register: Register, about: About | None, path: Path) -> Origin:
    """Find out which register this is, by one request.

    Raises:
        UsageError: It is a real host, and not the one of the mirror; that needs no request.
        RegisterError: It does not answer.
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
    """Return what the mirror is begun with, and whether what it holds may be another register's.

    Args:
        about: What ``mirror.json`` says.
        origin: The register that is to go on with it.
        held: The tables, as they are committed.
        since: What a new mirror is to begin with.
        full: Everything is fetched again, so that it does not matter what it was.

    Raises:
        UsageError: It is another register than the mirror's, or may be.
    """
    if about is not None and about.origin.register != HERE:
        if about.origin.name != origin.name:
            raise _another(held.path, about.origin.name, origin.name)
        return About(about.origin, about.changed_since), False
    states = [table.state() for table in held.lists.values() if table.state()]
    numbers = {state.get("register") for state in states}
    known = about is None and None not in numbers
    if known and numbers - {origin.number}:
        raise _another(held.path, "another register", origin.name)
    if states and not known and not full:
        raise UsageError(
            f"nothing in the mirror at {held.path} says which register it is of; if it is "
            f"{origin.name}, go on by sync(full=True), which compares all of it, or give another "
            "folder"
        )
    if about is not None:
        since = about.changed_since
    elif states:
        # The window of any later run says nothing of the day that the copy begins with.
        whole = [state for state in states if state["full"] or state["run"] == 1]
        windows = [date.fromordinal(state["since"]) for state in whole]
        since = min([*windows, *held.all_runs()["since"].drop_nulls()], default=since)
    return About(origin, since or BEGINNING), bool(states) and not known


def _another(path: Path, former: str, new: str) -> UsageError:
    return UsageError(
        f"the mirror at {path} is of {former}, not of {new}; give register= or another folder"
    )
