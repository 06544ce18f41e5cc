"""The folder ``data/``, which a wheel carries inside the package and a checkout beside it."""

from __future__ import annotations

from pathlib import Path

from finstat_kit.errors import UsageError

_PACKAGE = Path(__file__).resolve().parent.parent


def data_folder() -> Path:
    """Return the folder of the sample's data, in a wheel and in a checkout.

    An editable install leaves a copy in site-packages that may be stale; it is never looked at,
    because the code then lives in the checkout.
    """
    checkout = _PACKAGE.parent
    for folder in (_PACKAGE / "_data", checkout / "data"):
        if (folder / "codelists").is_dir():
            return folder
    raise FileNotFoundError(f"finstat_kit's data folder is missing beside {_PACKAGE}: reinstall it")


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
            f"codelists={str(folder)!r} does not contain codelists; give one with files such as "
            "kraje.json, okresy.json, sidla.json, each the body of a reply"
        )
    return {name: given.get(name, own / f"{name}.json").read_bytes() for name in names}
