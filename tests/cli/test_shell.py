"""What belongs to a shell: completion, folders, languages, `python -m`, the words of messages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import finstat_kit as fk
from tests.cli.test_commands import COMMAND, called, run
from tests.support.examples import slow


def complete(words: str) -> list[str]:
    number = len(words.split(" ")) - 1
    env = {
        **os.environ, "_FINSTAT_KIT_COMPLETE": "bash_complete", "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }  # fmt: skip
    seen = subprocess.run(COMMAND, env=env, capture_output=True, text=True, timeout=60)
    assert (seen.returncode, seen.stderr) == (0, "")
    return [line.partition(",")[2] for line in seen.stdout.splitlines()]


@pytest.mark.slow
def test_commands_options_and_names_are_completed() -> None:
    """Commands, options and the names of codelists are completed, as click documents it."""
    assert complete("finstat-kit co") == ["codelist", "count"]
    assert complete("finstat-kit codelist re") == ["regions"]
    assert complete("finstat-kit count --by o") == ["okres"]
    assert complete("finstat-kit get --m") == ["--max-requests", "--mirror"]


def test_the_script_of_completion_is_printed() -> None:
    """It is printed for the shell to read."""
    env = {**os.environ, "_FINSTAT_KIT_COMPLETE": "zsh_source"}

    seen = subprocess.run(COMMAND, env=env, capture_output=True, text=True, timeout=60)

    assert (seen.returncode, seen.stderr) == (0, "")
    assert "_FINSTAT_KIT_COMPLETE=zsh_complete finstat-kit" in seen.stdout


@pytest.mark.slow
def test_the_module_is_the_same_command() -> None:
    """`python -m finstat_kit` is the same command."""
    seen = subprocess.run(
        [sys.executable, "-m", "finstat_kit", "count", "--sample"], capture_output=True, text=True
    )

    assert (seen.stdout, seen.stderr, seen.returncode) == ("20000\n", "", 0)


def test_the_demo_speaks_the_language_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where --lang names none."""
    monkeypatch.setenv("FINSTAT_KIT_LANG", "sk")

    assert 'lang="sk"' in run("demo").stdout
    assert 'lang="en"' in run("demo", "--lang", "en").stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1250", *slow("ascii")])
def test_pipes_and_files_are_in_utf_8(encoding: str) -> None:
    """Whatever the encoding of the locale, as on Windows; messages too."""
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    demo, error = (
        subprocess.run([*COMMAND, *words.split()], env=env, capture_output=True, timeout=60)
        for words in ("demo --lang sk", "find Žďár★ --units")
    )

    assert (demo.returncode, demo.stderr) == (0, b"")
    assert demo.stdout.decode() == run("demo", "--lang", "sk").stdout
    assert "no register is chosen" in error.stderr.decode()


def test_an_argument_that_is_no_text_is_refused() -> None:
    """Bytes that the locale has no letters for are no search without a result."""
    words: list[str | bytes] = [*COMMAND, "find", b"\xbeilina", "--sample"]

    seen = subprocess.run(words, capture_output=True, text=True, timeout=60)

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith(r"Error: '\udcbeilina' is not a text in the encoding of this")


def test_the_environment_names_the_language_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """FINSTAT_KIT_LANG is the language of labels where --lang names none."""
    records = run("get", "210", "--sample").stdout
    arguments = ["count", "-", "--by", "kraj", "--sample"]
    monkeypatch.setenv("FINSTAT_KIT_LANG", "en")

    assert "Region of Bratislava" in run(*arguments, stdin=records).stdout
    assert "Bratislavský kraj" in run(*arguments, "--lang", "sk", stdin=records).stdout


def test_a_span_of_days_counts_back_from_the_registers_day() -> None:
    """`--changed-since -30d` is counted back from the register's day."""
    sample = fk.sample()

    assert int(run("count", "--sample", "--changed-since", "-30d").stdout) == sample.units.count(
        changed_since="-30d"
    )


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (["count", "--changed-since", "1.7.2026"],
         lambda: fk.units.count(changed_since="1.7.2026")),
        (["ids", "--after-id", "-1"], lambda: fk.units.ids(after_id=-1)),
        (["find", " "], lambda: fk.locations(" ")),
        (["financials", "00372491", "--year", "2015", "--max-requests", "1"],
         lambda: fk.financials("00372491", 2015, max_requests=1)),
        (["get", "210", "365", "--max-requests", "1"],
         lambda: fk.units.get([210, 365], max_requests=1)),
        (["sync", "r", "--budget", "long"],
         lambda: fk.Mirror("r", register=fk.sample(1)).sync(budget="long")),
        (["count", "--mirror", "a b"], lambda: fk.use("mirror:a b")),
        (["count", "--url", "cache:no file"], lambda: fk.use("cache:no file")),
        (["count", "--url", "http://u:p@x"], lambda: fk.use("http://u:p@x")),
        (["count", "--sample", "--cache", "."], lambda: fk.use("sample", cache=".")),
    ],
)  # fmt: skip
def test_errors_are_those_of_python(
    arguments: list[str], call: Callable[[], object], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Word for word."""
    monkeypatch.chdir(tmp_path)
    with fk.using(fk.sample()), pytest.raises(fk.RegisterError) as caught:
        call()

    named = {"--url", "--mirror", "--sample"} & set(arguments)
    seen = called(*arguments, *([] if named else ["--sample"]))

    assert seen.stderr == f"Error: {caught.value}\n"


def test_a_register_that_the_environment_names_wrongly_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With its name."""
    monkeypatch.setenv("FINSTAT_KIT_URL", "nowhere at all")
    register = called("count")
    monkeypatch.setenv("FINSTAT_KIT_LANG", "de")
    language = called("count", "--sample")

    assert register.stderr.startswith("Error: register='nowhere at all' is not a register; give a")
    assert language.stderr == "Error: FINSTAT_KIT_LANG='de' is not known; give 'sk' or 'en'\n"
    assert register.returncode == language.returncode == 2
