"""The templates that the kept reports are filed on: their bodies, in one file with its checksum."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from finstat_kit.client.register import Register
from finstat_kit.errors import NotFound, RegisterError
from finstat_kit.mirror.sealed import read_sealed, write_sealed
from finstat_kit.protocol import requests
from finstat_kit.protocol.forms import form as forms
from finstat_kit.protocol.forms.form import Form
from finstat_kit.protocol.requests import Request

_CURE: Final = "remove it, the next sync() writes it anew"
LOST: Final = "is lost; the next sync() writes it anew"


def stored(path: Path) -> dict[int, str | None]:
    """Return the bodies of templates by id, None for one that the register has not.

    Raises:
        MirrorError: The file is damaged.
    """
    body = read_sealed(path, _CURE)
    found: dict[str, str | None] = {} if body is None else json.loads(body)
    return {int(id_): text for id_, text in found.items()}


def form_of(path: Path, template: int) -> Form | None:
    """Return a stored template, None where there is none."""
    text = stored(path).get(template)
    return None if text is None else forms.parse_template(text.encode(), template)


def renew(path: Path, used: Iterable[int], register: Register, failed: dict[int, str]) -> None:
    """Fetch the templates that are not stored yet; each once.

    Args:
        path: The file.
        used: Ids of templates.
        register: Where they come from.
        failed: Those that could not be had, with the reason; they are not requested, and what
            fails now is added.
    """
    known = stored(path)
    wanted = sorted(set(used) - known.keys() - failed.keys())
    for template in wanted:
        try:
            body = register._session.exchange.get(_raw(template))
            known[template] = body.decode()
        except NotFound:
            known[template] = None
        except RegisterError as error:
            failed[template] = error.message
    if set(wanted) - failed.keys():
        write_sealed(path, json.dumps(known, ensure_ascii=False).encode())


def _raw(template: int) -> Request[bytes]:
    checked = requests.template(template)

    def read(body: bytes) -> bytes:
        checked.read(body)
        return body

    return Request(checked.path, read, checked.parameters, checked.cap)
