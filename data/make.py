"""Make the drawn part of the default sample: ``python data/make.py`` writes ``sample.npz``.

The other files here are facts: ``codelists/`` holds codes and labels of the Statistical Office in
the form of the register's replies, ``weights.json`` how often a region (per mille) and a district
within its region is drawn: the number of its municipalities, for the city districts of Bratislava
and Košice an estimate; and the largest municipalities of districts without a seat, largest first.
"""

from __future__ import annotations

from pathlib import Path

from finstat_kit.service import population

if __name__ == "__main__":
    population.save(population.draw(), Path(__file__).with_name("sample.npz"))
