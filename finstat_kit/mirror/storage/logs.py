"""The logs of a mirror: append-only tables of rows with ascending versions."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.mirror.storage.cells import ORDER, STORED
from finstat_kit.mirror.storage.files import Layout
from finstat_kit.mirror.storage.rows import schema_of
from finstat_kit.protocol import wire

COLLECTIONS: Final = tuple(wire.LISTS)
CONTENTS: Final = tuple(name for name in COLLECTIONS if name != "units")
CODELISTS: Final = pl.Schema(
    {
        "version": pl.Int64(), "name": pl.String(), "code": pl.String(), "name_sk": pl.String(),
        "name_en": pl.String(), "parent_code": pl.String(),
    }
)  # fmt: skip
TEMPLATES: Final = pl.Schema(
    {"version": pl.Int64(), "id": pl.Int64(), "seen": pl.Date(), "body": pl.String()}
)
LOGS: Final = {
    **{name: Layout(schema_of(name)) for name in COLLECTIONS},
    "cells": Layout(STORED, ORDER),
    "codelists": Layout(CODELISTS),
    "templates": Layout(TEMPLATES),
}
