"""What belongs to a shell: completion, folders, languages, `python -m`, the words of messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import finstat_kit as fk
from finstat_kit.cli.demo import language
from tests.cli.test_commands import COMMAND, called, run
from tests.support.examples import slow
from tests.support.faults import PAGE, FaultServer, reply


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
    assert seen.stderr.startswith("Error: FOLDER s3://bucket/ruz is a URL, and a mirror is")


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
def test_the_language_is_that_of_the_locale(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FINSTAT_KIT_LANG, else English under an English locale, else Slovak."""
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "FINSTAT_KIT_LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert language(os.environ) == expected


def test_the_demo_speaks_the_language_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where --lang names none."""
    monkeypatch.setenv("FINSTAT_KIT_LANG", "sk")
    few = ["demo", "--changed-since", "2026-06-20"]

    assert 'lang="sk"' in run(*few).stdout
    assert 'lang="en"' in run(*few, "--lang", "en").stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1250", *slow("ascii")])
def test_pipes_and_files_are_in_utf_8(encoding: str) -> None:
    """Whatever the encoding of the locale, as on Windows; messages too."""
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    demo, error = (
        subprocess.run([*COMMAND, *words.split()], env=env, capture_output=True, timeout=60)
        for words in ("demo --changed-since 2026-06-25 --lang sk", "find Žďár★ --units")
    )

    assert (demo.returncode, demo.stderr) == (0, b"")
    assert demo.stdout.decode() == run(
        "demo", "--changed-since", "2026-06-25", "--lang", "sk"
    ).stdout  # fmt: skip
    assert "no register is chosen" in error.stderr.decode()


def test_an_argument_that_is_no_text_is_refused() -> None:
    """Bytes that the locale has no letters for are no search without a result."""
    words: list[str | bytes] = [*COMMAND, "find", b"\xbeilina", "--sample"]

    seen = subprocess.run(words, capture_output=True, text=True, timeout=60)

    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith(r"Error: '\udcbeilina' is not a text in the encoding of this")


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
    ("arguments", "told"),
    [
        (["count", "--sample", "--changed-since", "1.7.2026"],
         "--changed-since 1.7.2026 is not a valid date; give YYYY-MM-DD, or -30d to count back "
         "30 days"),
        (["count", "--sample", "--changed-since", "30d"],
         "--changed-since 30d is not a valid date; give -30d to count back"),
        (["ids", "--sample", "--after-id", "-1"],
         "--after-id -1 is not allowed; give a whole number, 0 or more"),
        (["find", " ", "--sample"], "TEXT ' ' is not allowed; give part of a name or of a code"),
        (["get", "9" * 19, "--sample"],
         f"ID {'9' * 19} is not allowed; give a whole number, 0 or more"),
        (["count", "--url", "a b"],
         "--url 'a b' is not a register; give a URL, --sample (invented data), --live (the real "
         "register) or --mirror PATH"),
        (["count", "--mirror", "a b"],
         "--mirror 'a b': there is no mirror in 'a b'; make it: finstat-kit sync 'a b' --live"),
        (["count", "--mirror", "s3://b/r"], "--mirror s3://b/r is a URL, and a mirror is written"),
        (["mirror", "s3://b/r"], "FOLDER s3://b/r is a URL, and a mirror is written"),
        (["count", "--url", "cache:no file"],
         "there is no file 'no file'; record it: run the same command with --live --cache 'no "
         "file'"),
        (["count", "--mirror", "x", "--cache", "y"],
         "--cache y: a mirror answers from disk; leave it out"),
        (["get", "210", "365", "--sample", "--max-requests", "1"],
         "--max-requests 1: this needs 2 requests, one per record; give "
         "fewer ids, such as those changed since a later day, take a sample of them, keep a mirror "
         "(finstat-kit sync FOLDER), which resumes after an interruption, or allow it by "
         "--max-requests 2"),
        (["get", "9089206", "--collection", "reports", "--sample", "--format", "csv"],
         "the column 'titulnaStrana' holds structs, which csv and xlsx cannot; write parquet or "
         "ndjson"),
        (["sync", "r", "--sample", "--budget", "long"],
         "--budget long is not a valid duration; give 7d, 12h, 30min or 90s"),
        (["form", "3", "--sample"], "the register has no template 3"),
        (["statement", "5", "--sample"], "1 of 1 ids have no record: 5"),
    ],
)  # fmt: skip
def test_errors_are_in_the_words_of_the_shell(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options and commands stand where the library names arguments and calls; values are quoted."""
    monkeypatch.chdir(tmp_path)

    seen = called(*arguments)

    assert seen.stderr.removeprefix("Error: ").startswith(told)
    assert not any(word in seen.stderr for word in ("fk.", "=", "()", ".partial", "datetime"))


def test_a_variable_of_the_environment_is_named_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no option of the command."""
    monkeypatch.setenv("FINSTAT_KIT_URL", "nowhere at all")
    register = called("count").stderr
    monkeypatch.setenv("FINSTAT_KIT_LANG", "de")
    language = called("count", "--sample").stderr

    assert register.startswith("Error: FINSTAT_KIT_URL='nowhere at all' is not a register; give a")
    assert language == "Error: FINSTAT_KIT_LANG=de is not known; give 'sk' or 'en'\n"


def test_what_is_wrong_with_the_register_is_said_of_what_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option or the variable, with its value, also where the library names another argument."""
    monkeypatch.chdir(tmp_path)
    fk.Mirror("ruz", register=fk.sample(3)).sync()

    for option, name, told in (
        ("--url", "http://u:p@x", ": it contains a name or a password, which"),
        ("--mirror", "ruz@2020-01-01", ": the first sync of this mirror was completed on"),
        ("--mirror", "ruz@2020-13-01", " is not a valid date; give YYYY-MM-DD"),
    ):
        by_option = called("count", option, name).stderr
        variable = f"mirror:{name}" if option == "--mirror" else name
        with monkeypatch.context() as patch:
            patch.setenv("FINSTAT_KIT_URL", variable)
            by_variable = called("count").stderr

        shown = ("", "") if "password" in told else (f" {name}", f"={variable}")
        assert by_option.startswith(f"Error: {option}{shown[0]}{told}")
        assert by_variable.startswith(f"Error: FINSTAT_KIT_URL{shown[1]}{told}")


@pytest.mark.parametrize(
    "command", [["count", "--by", "kraj"], ["count"], ["get", "5"], ["filings", "5"]]
)
def test_an_error_names_only_options_of_the_command(command: list[str]) -> None:
    """Only `ids` resumes after an id: the rest of a count is no count, and others have no ids."""
    page = [reply(b'{"id":[1,2],"existujeDalsieId":true}')]
    html = [reply(PAGE)]
    with FaultServer(page if "--by" in command else html, html) as server:
        seen = called(*command, "--url", server.url)

    assert (seen.returncode, seen.stdout) == (1, "")
    assert "HTML" in seen.stderr
    assert "resume" not in seen.stderr


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
