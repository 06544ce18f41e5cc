"""Units that several tests draw: fetched once per process. Nothing may change the sample."""

from __future__ import annotations

import finstat_kit as fk

SAMPLE = fk.sample(4_000)
UNITS = SAMPLE.units.get(SAMPLE.units.ids())
