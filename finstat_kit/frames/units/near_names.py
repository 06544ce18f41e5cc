"""Units with a name near to a misspelt one, among millions of names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.frames.text import unit_names

_ALIKE: Final = 80.0  # likeness of two names, in per cent: one wrong letter of five
_COMPARED: Final = 1_000  # names that are compared letter by letter, those that share most pairs
_CONSIDERED: Final = 200_000  # names that share most pairs, however many others they have
_EVERY: Final = 8
_LEAST_SHARED: Final = 0.3  # pairs of a name that one like it has, however short
_SLICE: Final = 50_000  # names whose pairs are read at once
_BITS: Final = 64


class NearNames:
    """The names of all units, and which pairs of neighbouring letters each has.

    To compare a name with 2.6 million takes a second; to count the pairs that they share takes
    hundredths of one, and only those that share most are compared.

    Args:
        names: ``id``, ``words`` as of `unit_names.prepared`, and ``bare``, without a legal form.
    """

    def __init__(self, names: pl.DataFrame) -> None:
        self._names, self._words = names.select("bare", "id"), names.select("id", "words")
        self._pairs = np.concatenate(
            [np.empty(0, np.uint64)]
            + [_pairs(part["words"]) for part in names.select("words").iter_slices(_SLICE)]
        )
        self._numbers = np.bitwise_count(self._pairs)

    def of(self, bare: str, limit: int) -> list[int]:
        """Return the ids of units with a name near to one, the nearest first.

        After those that are alike come names that contain all of its words.
        """
        from rapidfuzz import fuzz, process  # only where a name is misspelt

        alike = self._names[self._sharing_most(_pairs(pl.Series([f" {bare} "]))[0])]
        ids_of = dict(alike.group_by("bare", maintain_order=True).agg("id").iter_rows())
        orders: tuple[Callable[[str], str], ...] = (str, _in_order)
        hits = [
            hit
            for order in orders
            for hit in process.extract(
                order(bare),
                {name: order(name) for name in ids_of},
                scorer=fuzz.ratio,
                score_cutoff=_ALIKE,
                limit=limit,
            )
        ]
        hits.sort(key=lambda hit: -hit[1])
        near = list(dict.fromkeys(id_ for _, _, name in hits for id_ in ids_of[name]))
        # A word may be the beginning of one.
        pairs = np.bitwise_or.reduce(_pairs(pl.Series([f" {word}" for word in bare.split()])))
        having_all = np.flatnonzero(self._pairs & pairs == pairs)
        if not having_all.size:
            return near[:limit]
        containing, _ = unit_names.matching(self._words[having_all], bare, limit)
        return list(dict.fromkeys([*near, *containing]))[:limit]

    def _sharing_most(self, pairs: np.uint64) -> np.ndarray:
        """Return the places of the names that share most pairs, and have fewest others."""
        shared, number = np.bitwise_count(self._pairs & pairs), int(np.bitwise_count(pairs))
        some = shared[::_EVERY]  # enough to know how many share so many
        at_least = np.bincount(some, minlength=_BITS + 1)[::-1].cumsum()[::-1]
        fit = int(np.argmax(at_least <= _CONSIDERED // _EVERY))
        least = max(fit, math.ceil(_LEAST_SHARED * number))
        places = np.flatnonzero(shared >= least)
        likeness = shared[places] / (self._numbers[places] + np.float32(number))
        if places.size > _COMPARED:
            places = places[np.argpartition(-likeness, _COMPARED)[:_COMPARED]]
            places.sort()
        return places


def _pairs(names: pl.Series) -> np.ndarray:
    """Return which pairs of letters names have, as bits; several pairs share a bit."""
    lengths = names.str.len_bytes().to_numpy().astype(np.int64)
    # One name after the other with a byte between.
    letters = np.frombuffer(("\n".join(names) + "\n").encode(), np.uint8)
    bits = _BIT_OF_PAIR[letters[:-1].astype(np.uint16) << 8 | letters[1:]]
    ends = np.cumsum(lengths + 1)
    return np.bitwise_or.reduceat(np.append(bits, np.uint64(0)), ends - lengths - 1)


def _bits_of_pairs() -> np.ndarray:
    """Return the bit of each pair of bytes, none of those between two names."""
    codes = np.arange(1 << 16, dtype=np.uint64)
    # The multiplier has no pattern in its bits: pairs spread evenly.
    bits = np.uint64(1) << ((codes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(_BITS - 6))
    between = (codes >> 8 == ord("\n")) | (codes % 256 == ord("\n"))
    return np.where(between, np.uint64(0), bits)


_BIT_OF_PAIR: Final = _bits_of_pairs()


def _in_order(name: str) -> str:
    return " ".join(sorted(name.split()))
