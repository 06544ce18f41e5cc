"""What belongs to a shell: completion, folders, languages, `python -m`, the words of messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import finstat_kit as fk
from finstat_kit.cli.demo import language
from finstat_kit.cli.wording import worded
from tests.cli.test_commands import COMMAND, called, run


def complete(words: str) -> list[str]:
    number = len(words.split(" ")) - 1
    env = {
        **os.environ, "_FINSTAT_KIT_COMPLETE": "bash_complete", "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }  # fmt: skip
    seen = subprocess.run(COMMAND, env=env, capture_output=True, text=True, timeout=60)
    assert (seen.returncode, seen.stderr) == (0, "")
    return [line.partition(",")[2] for line in seen.stdout.splitlines()]


def test_commands_options_and_names_are_completed() -> None:
    """Commands, options and the names of codelists are completed, as click documents it."""
    assert complete("finstat-kit co") == ["codelist", "count"]
    assert complete("finstat-kit codelist re") == ["regions"]
    assert complete("finstat-kit count --by o") == ["okres"]
    assert complete("finstat-kit get --k") == ["--keep-going"]


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


@pytest.mark.parametrize("command", ["sync", "mirror"])
def test_a_url_is_no_folder(command: str) -> None:
    """It is named as it was given, although a path has no two slashes."""
    seen = called(command, "s3://bucket/ruz", *(["--sample"] if command == "sync" else []))

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith("Error: FOLDER 's3://bucket/ruz' is a URL, and a mirror is")


@pytest.mark.parametrize(
    "command",
    [
        ["sync", "none/ruz"],
        ["mirror", "none"],
        ["get", "210", "--output", "none/x.csv"],
        ["ids", "--output", "none/x.csv"],
    ],
)
def test_a_missing_folder_is_named_before_any_request(
    tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a sentence, and said before a request: the register here would answer none."""
    register = [] if command[0] == "mirror" else ["--url", "http://127.0.0.1:9"]
    monkeypatch.chdir(tmp_path)

    seen = called(*command, *register)

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr == "Error: there is no folder 'none'; create it, or give another\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "sk"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "FINSTAT_KIT_LANG": "sk"}, "sk"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "sk_SK.UTF-8"}, "sk"),
        ({"LANG": "sk_SK.UTF-8", "LC_MESSAGES": "en_IE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": ""}, "en"),
        ({"LANG": "C.UTF-8"}, "sk"),
        ({"LANG": "sk_SK.UTF-8", "FINSTAT_KIT_LANG": "en"}, "en"),
    ],
)
def test_the_demo_speaks_the_language_of_the_locale(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FINSTAT_KIT_LANG, else English under an English locale, else Slovak."""
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "FINSTAT_KIT_LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert language(os.environ) == expected
    few = ["demo", "--changed-since", "2026-06-20"]
    assert f'lang="{expected}"' in run(*few).stdout
    assert 'lang="en"' in run(*few, "--lang", "en").stdout


def test_the_environment_names_the_language_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """FINSTAT_KIT_LANG is the language of labels where --lang names none."""
    arguments = ["count", "--by", "kraj", "--sample", "--changed-since", "-30d"]
    monkeypatch.setenv("FINSTAT_KIT_LANG", "en")

    assert "Region of Bratislava" in run(*arguments).stdout
    assert "Bratislavský kraj" in run(*arguments, "--lang", "sk").stdout


def test_a_span_of_days_counts_back_from_the_registers_day() -> None:
    """`--changed-since -30d` is counted back from the register's day."""
    sample = fk.sample()

    assert int(run("count", "--sample", "--changed-since", "-30d").stdout) == sample.units.count(
        changed_since="-30d"
    )
    assert "2026-06-29" in run("demo", "--changed-since", "-1d").stdout


@pytest.mark.parametrize(
    ("python", "told"),
    [
        (
            "this needs 12,000 requests; more than max_requests=10,000 are not sent. keep a mirror "
            "(fk.Mirror), which resumes, or allow it by max_requests=12000",
            "this needs 12,000 requests; more than --max-requests 10000 are not sent. keep a "
            "mirror (finstat-kit sync FOLDER), which resumes, or allow it by --max-requests 12000",
        ),
        ("or allow it by max_requests=", "or allow it by --max-requests N"),
        (
            'to resume:\n  fk.annual_reports.ids(changed_since="2026-01-01", after_id=5)',
            "to resume:\n  finstat-kit ids --collection annual-reports --changed-since 2026-01-01 "
            "--after-id 5",
        ),
        (
            'fk.units.ids(changed_since="2026-01-01", after_id=5)',
            "finstat-kit ids --changed-since 2026-01-01 --after-id 5",
        ),
        ("up to id 4: resume with after_id=4", "up to id 4: resume with --after-id 4"),
        ("allow it by sync(full=True, max_missing=12)", "allow it by --full --max-missing 12"),
        ("resume with sync(full=True), which", "resume with sync --full, which"),
        ("in the mirror, the next sync() resumes", "in the mirror, the next sync resumes"),
        ("cannot be read; see verify()", "cannot be read; see mirror --verify"),
        ("path='a b.csv' cannot be written (x)", "--output 'a b.csv' cannot be written (x)"),
        ("path='s3://b/r' is a URL, and", "FOLDER 's3://b/r' is a URL, and"),
        ("register='mirror:s3://b/r' is a URL, and", "--mirror s3://b/r is a URL, and"),
        ("path='r': '/r' is a file; give a folder", "FOLDER 'r': '/r' is a file; give a folder"),
        (
            "a blank; join it by .list.join() yourself, or write parquet or ndjson",
            "a blank; write parquet or ndjson",
        ),
        ("a null; drop it by .list.drop_nulls(), or write parquet", "a null; write parquet"),
        (
            "cannot; encode them as text by .bin.encode('hex'), or write parquet",
            "cannot; write parquet",
        ),
        ("it has ['a']; name others by columns=", "it has ['a']"),
        ("have no record: 3; the others are in .partial of this error, or give errors=\"keep\"",
         "have no record: 3"),
        ("host='0.0.0.0', port=80: cannot listen", "--host 0.0.0.0, --port 80: cannot listen"),
        ("expected a text, got 'limit=1'", "expected a text, got 'limit=1'"),
    ],
)  # fmt: skip
def test_messages_are_worded_for_the_shell(python: str, told: str) -> None:
    """Options and commands stand where the library names arguments and calls."""
    assert worded(python) == told


@pytest.mark.slow
def test_no_message_speaks_python(tmp_path: Path) -> None:
    """No fault that a command line can make is told in Python."""
    ruz = str(tmp_path / "ruz")
    assert run("sync", ruz, "--sample", "--changed-since", "2026-06-25").exit_code == 0
    file = tmp_path / "f"
    file.touch()
    told = [
        called(*arguments).stderr
        for arguments in (
            ["count", "--url", ruz],
            ["count", "--url", "http://u:p@127.0.0.1"],
            ["count", "--sample", "--changed-since", "-99999d"],
            ["count", "--sample", "--changed-since", "2030-01-01"],
            ["ids", "--sample", "--after-id", "-1"],
            ["get", "9999999999999999999", "--sample"],
            ["sync", ruz, "--sample", "--changed-since", "2026-01-01"],
            ["sync", ruz, "--url", "http://127.0.0.1:9"],
            ["sync", str(file / "x"), "--sample"],
            ["sync", "s3://bucket/ruz", "--sample"],
            ["mirror", "s3://bucket/ruz"],
            ["count", "--mirror", "s3://bucket/ruz"],
            ["mirror", str(tmp_path), "--verify"],
            ["serve", "--host", "192.0.2.1"],
        )
    ]

    pythonic = ("fk.", "=", "()", ".partial", "datetime", "Traceback", "UserWarning")
    assert all(told)
    assert [text for text in told if any(word in text for word in pythonic)] == []
