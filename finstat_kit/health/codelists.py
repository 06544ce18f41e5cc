"""The checks of codelists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from finstat_kit.health.lines import Line, line, parsed
from finstat_kit.health.probe import Fault, Probe, as_object
from finstat_kit.protocol import codelists, wire

_ENTRY: Final = {"lokacie": {"kod", "nazov", "nadradenaLokacia"}, "klasifikacie": {"kod", "nazov"}}
_PARENT: Final = {"districts": "regions", "municipalities": "districts"}


def codelist(probe: Probe, codelist: wire.Codelist) -> Line:
    """Check a codelist, and note its codes."""
    name = codelist.name
    key = wire.LOCATIONS if codelist.located else wire.CLASSIFICATION
    parse = codelists.parse_locations if codelist.located else codelists.parse_classification
    try:
        body = probe.ask(codelist.endpoint)
        entries = as_object(body).get(key)
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise Fault(f"no list of entries under {key}")
    except Fault as fault:
        return line(name, "fail", str(fault), "no labels from it")

    sent_codes = [e.get("kod") for e in entries]
    codes = {str(code) for code in sent_codes if code is not None}
    probe.codes[name] = codes
    parents = probe.codes.get(_PARENT.get(name, ""))
    above = [e.get("nadradenaLokacia") for e in entries]
    strange = [p for p in above if parents is not None and p is not None and str(p) not in parents]
    names = [n if isinstance(n := e.get("nazov"), dict) else {} for e in entries]
    slovak = [n["sk"] for n in names if isinstance(n.get("sk"), str)]
    oddities = {
        "codes repeated": sum(code is not None for code in sent_codes) - len(codes),
        "codes that are numbers": sum(type(code) is int for code in sent_codes),
        "without a name in both languages": sum(
            not all(isinstance(n.get(lang), str) and n[lang] for lang in ("sk", "en"))
            for n in names
        ),
        "with an unknown parent": len(strange),
        "unknown keys": len({key for e in entries for key in e} - _ENTRY[key]),
    }
    usual = {
        "share a name": sum(n for n in Counter(slovak).values() if n > 1),
        "without a parent": above.count(None) if name in _PARENT else 0,
    }
    observation = ", ".join([f"{len(entries):,} entries", *_count_texts({**oddities, **usual})])
    try:
        parsed(parse, body)
    except Fault as fault:
        return line(name, "fail", f"{observation}; {fault}", "the client refuses this list")
    if not entries:
        return line(name, "warn", observation, "no code will have a label")
    if any(oddities.values()):
        return line(name, "warn", observation, "it is read, but labels may be missing")
    return line(name, "ok", observation)


def _count_texts(counts: Mapping[str, int]) -> list[str]:
    return [f"{count:,} {what}" for what, count in counts.items() if count]
