"""The scripts in ``data/``, which make the package's data and are no part of it."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from finstat_kit.protocol.shipped import data_folder


def script(name: str) -> ModuleType:
    """Return a script as a module; skip the test where the package is no checkout."""
    path = data_folder() / f"{name}.py"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        pytest.skip("not a checkout")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
