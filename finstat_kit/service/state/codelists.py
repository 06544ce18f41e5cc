"""The bodies of codelists that the embedded register serves."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from finstat_kit.errors import UsageError
from finstat_kit.protocol.shipped import data_folder
from finstat_kit.protocol.wire import CODELISTS

_NAMES: Final = tuple(codelist.endpoint for codelist in CODELISTS.values())


def codelist_bodies(folder: str | Path | None = None) -> dict[str, bytes]:
    """Read the bodies of the codelists; those that *folder* does not have are the sample's."""
    paths = {name: data_folder() / "codelists" / f"{name}.json" for name in _NAMES}
    if folder is not None:
        given = {name: Path(folder) / f"{name}.json" for name in _NAMES}
        given = {name: path for name, path in given.items() if path.is_file()}
        if not given:
            raise UsageError(
                "does not contain codelists",
                argument="codelists",
                value=str(folder),
                cure="give one with files such as kraje.json, okresy.json, sidla.json, each the "
                "body of a reply",
            )
        paths |= given
    return {name: path.read_bytes() for name, path in paths.items()}
