"""The folder ``data/``, which a wheel carries inside the package and a checkout beside it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")

_PACKAGE = Path(__file__).resolve().parent.parent


def data_folder() -> Path:
    """Return the folder of the package's data, in a wheel and in a checkout.

    An editable install leaves a copy in site-packages that may be stale; it is never read,
    because the code is then in the checkout.
    """
    for folder in (_PACKAGE / "_data", _PACKAGE.parent / "data"):
        if (folder / "codelists").is_dir():
            return folder
    raise FileNotFoundError(f"finstat_kit's data folder is missing beside {_PACKAGE}: reinstall it")


@cache
def template_bodies() -> dict[int, bytes]:
    """Return the templates that the package ships, by id, as the register would send them."""
    paths = (data_folder() / "forms").glob("*.json")
    return {int(path.stem): path.read_bytes() for path in sorted(paths, key=lambda p: int(p.stem))}


def read(name: str, kind: type[T]) -> T:
    """Return the content of ``data/NAME.json``."""
    return msgspec.json.decode((data_folder() / f"{name}.json").read_bytes(), type=kind)


def facts(name: str, kind: type[T]) -> T:
    """Return the facts in ``data/facts/NAME.json``, which the sample is drawn by."""
    return read(f"facts/{name}", kind)
