"""The words that are shown, in both languages."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest

import finstat_kit as fk
from finstat_kit.frames.reports.cells import REASON_TEXTS, REASONS
from finstat_kit.frames.text.catalogue import Words, _catalogue

PARTS = sorted(_catalogue())


def blanks(text: str) -> set[str | None]:
    """Return the names of what is filled into a text."""
    return {name for _, name, _, _ in Formatter().parse(text)} - {None}


@pytest.mark.parametrize("part", PARTS)
def test_a_text_has_the_same_blanks_in_both_languages(part: str) -> None:
    """What is filled into the Slovak text is filled into the English one, too."""
    slovak, english = Words(part)["sk"], Words(part)["en"]

    assert {name: blanks(text) for name, text in slovak.items()} == {
        name: blanks(text) for name, text in english.items()
    }


def test_every_reason_has_words() -> None:
    """Charts, the viewer and a statement over years show the same ones."""
    assert list(REASON_TEXTS["sk"]) == list(REASON_TEXTS["en"]) == list(REASONS)


@pytest.mark.slow
def test_every_part_of_the_catalogue_is_shown() -> None:
    """The parts are those that the package reads, those of the pickers by group."""
    package = Path(fk.__file__).parent
    calls = [
        node
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    ]
    parts = {ast.literal_eval(call.args[0]) for call in calls
             if call.func.id == "Words" and isinstance(call.args[0], ast.Constant)}  # type: ignore[attr-defined]  # fmt: skip
    groups = {f"widgets {ast.literal_eval(call.args[1])}" for call in calls
              if call.func.id == "words" and len(call.args) == 2}  # type: ignore[attr-defined]  # fmt: skip

    assert parts | groups | {"widgets"} == set(PARTS)
