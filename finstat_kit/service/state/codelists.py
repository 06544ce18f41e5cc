"""The bodies of codelists that the embedded register serves."""

from __future__ import annotations

from pathlib import Path

from finstat_kit.errors import UsageError
from finstat_kit.protocol.shipped import data_folder


def codelist_bodies(names: tuple[str, ...], folder: str | Path | None = None) -> dict[str, bytes]:
    """Read the bodies of the codelists; what *folder* does not have comes from the sample."""
    own = data_folder() / "codelists"
    given = (
        {}
        if folder is None
        else {n: p for n in names if (p := Path(folder) / f"{n}.json").is_file()}
    )
    if folder is not None and not given:
        raise UsageError(
            "does not contain codelists",
            argument="codelists",
            value=str(folder),
            cure="give one with files such as kraje.json, okresy.json, sidla.json, each the body "
            "of a reply",
        )
    return {name: given.get(name, own / f"{name}.json").read_bytes() for name in names}
