"""Slovakia's Register of Financial Statements as polars DataFrames.

Choose a register, then call its names:

    >>> import finstat_kit as fk
    >>> with fk.using(fk.sample()):
    ...     fk.units.count()
    20000

The public names are listed in ``__init__.pyi``. Each is loaded at its first use, so that importing
the package costs next to nothing.
"""

import lazy_loader

from finstat_kit.client import openers

__version__ = "0.1.0"
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    from finstat_kit.arguments import no_attribute

    if name not in __all__:
        raise no_attribute("fk", name, __all__)
    return _load(name)


def _open_mirror(path, day):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    from finstat_kit.mirror.mirror import Mirror

    mirror = Mirror(path)
    return mirror if day is None else mirror.as_of(day)


openers["mirror"] = _open_mirror
