"""The command line: what goes where, how it ends, and that it fits into a shell."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import polars as pl
import pytest
from click.testing import CliRunner, Result

import finstat_kit as fk
from finstat_kit.cli.commands import cli, main
from tests.support.examples import quick
from tests.support.faults import HANG, FaultServer, Step, reply

# Where the tests run in the background of a shell, Ctrl-C is ignored and children inherit that.
COMMAND = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from finstat_kit.cli.commands import main; main()",
]


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=stdin, catch_exceptions=True)


def shell(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=60
    )


def called(
    *arguments: str, stdin: str | bytes | TextIO | None = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command as `shell` does, but in this process, where all is imported already.

    Bytes come from a pipe; a text is no file of the system's, as where pytest captures.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    given: TextIO | None
    if isinstance(stdin, str):
        given = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    elif isinstance(stdin, bytes):
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(stdin)
        given = os.fdopen(reading, encoding="utf-8")
    else:
        given = stdin
    code: object = 0
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.resetwarnings()  # they are printed, as in a shell
        patch.setattr(sys, "argv", ["finstat-kit", *arguments])
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        if isinstance(stdin, bytes) and given is not None:
            given.close()
        out.flush()
        err.flush()
    assert isinstance(code, int)
    printed, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(arguments, code, printed, told)


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command; whatever happens, it ends with the block."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def units() -> pl.DataFrame:
    sample = fk.sample()
    return sample.units.get(sample.units.ids(limit=4))


def test_commands_are_documented() -> None:
    """Every command has a help text, and the page of the command line names each."""
    page = Path(__file__).parents[2] / "docs" / "howto" / "command-line.md"
    text = page.read_text(encoding="utf-8")

    for name, command in cli.commands.items():
        assert command.help
        assert f"finstat-kit {name}" in text


def test_help_names_what_can_be_given() -> None:
    """Every option that chooses the register."""
    whole = " ".join(run("--help").stdout.split())

    assert "set by --url, --live, --sample or --mirror, else by" in whole


def test_a_codelist_is_printed_in_each_format() -> None:
    """A codelist in each format; in a pipe it is csv without a byte order mark."""
    with fk.using(fk.sample()):
        regions = fk.regions()

    assert run("codelist", "regions", "--sample").stdout == regions.write_csv()
    assert (
        run("codelist", "regions", "--sample", "--format", "ndjson").stdout
        == regions.write_ndjson()
    )
    table = run("codelist", "regions", "--sample", "--format", "table").stdout
    assert "│ SK010 ┆ Bratislavský kraj" in table
    for name in ("legal-forms", "legal_forms", "size-classes", "ownership-types"):
        assert run("codelist", name, "--sample").exit_code == 0


def test_a_count_is_a_number() -> None:
    """A count is a number and nothing else."""
    sample = fk.sample()

    assert run("count", "--sample").stdout == "20000\n"
    counted = run(
        "count", "--sample", "--collection", "annual-reports", "--changed-since", "2026-01-01"
    )
    assert int(counted.stdout) == sample.annual_reports.count(changed_since="2026-01-01")


def test_ids_are_read_by_get_in_a_pipe(units: pl.DataFrame) -> None:
    """What `ids` prints, `get -` reads."""
    ids = run("ids", "--sample", "--limit", "4").stdout
    records = run("get", "-", "--sample", stdin=ids).stdout

    assert ids == "id\n" + "".join(f"{i}\n" for i in units["id"])
    assert records.splitlines()[1].startswith(f"{units['id'][0]},{units['ico'][0]},")
    assert run("get", *map(str, units["id"]), "--sample").stdout == records


def test_find_prints_places_by_part_of_a_name() -> None:
    """Places by part of a name."""
    output = run("find", "kosice", "--sample").stdout
    first = run("find", "kosice", "--sample", "--limit", "2").stdout

    assert output == fk.sample().locations("kosice").write_csv()
    assert first == fk.sample().locations("kosice").head(2).write_csv()
    assert first != output


def test_find_prints_units_by_name_that_other_commands_read() -> None:
    """The best match first, as in Python; a warning has the number of all."""
    seen = called("find", "--units", "orol skuska", "--sample", "--limit", "2")
    name = run("find", "--units", "orol 510 sro", "--sample").stdout
    figures = run("financials", "-", "--sample", "--year", "2015", stdin=name).stdout

    assert len(seen.stdout.splitlines()) == 3
    assert re.search("Warning: the 2 best of [0-9]{3} units that match", seen.stderr)
    assert name.splitlines()[1].startswith("365,00372491,")
    assert figures.splitlines()[1].startswith("365,")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    quick(
        [
            (["count"], 2, "--sample .*--live .*--url URL"),
            (["count", "--sample", "--url", "http://127.0.0.1:9"], 2, "exclude each other"),
            (["count", "--sample", "--live"], 2, "exclude each other"),
            (["count", "--url", "127.0.0.1"], 2, "register='127.0.0.1' is not a register"),
            (["count", "--sample", "--changed-since", "1.7.2026"], 2, "YYYY-MM-DD"),
            (["count", "--sample", "--by", "kraj"], 2, "FILE and --by go together"),
            (["count", "-", "--sample"], 2, "FILE and --by go together"),
            (["count", "--sample", "--lang", "en"], 2, "FILE and --by go together"),
            (["count", "--sample", "--format", "csv"], 2, "FILE and --by go together"),
            (["codelist", "kraje", "--sample"], 2, "regions"),
            (["get", "x1", "--sample"], 2, "ID='x1' is not an IČO, which has 8 or 12 digits"),
            (["get", "0061387", "--sample"], 2, "an IČO with its zeros as '00061387'"),
            (["get", "x1", "--sample", "--collection", "reports"], 2, "'x1' is not an id"),
            (["financials", "--sample"], 2, "Missing argument 'ID…'"),
            (["count", "nowhere.csv", "--by", "kraj", "--sample"], 2, "nowhere.csv"),
            (["find", " ", "--sample"], 2, "text=' '"),
            (["find", "x", "--units", "--url", "http://127.0.0.1:9"], 2, "no search for names"),
            (["mirror", ".", "--output", "x.csv"], 2, "go with --verify"),
            (["mirror", ".", "--verify", "--files", "x.json"], 2, "one at a time"),
            (["mirror", "s3://bucket/ruz"], 2, "is a URL, and a mirror is written"),
            (["sync", "s3://bucket/ruz", "--sample"], 2, "is a URL, and a mirror is written"),
            (["ids", "--sample", "-o", "x.csv", "--format", "csv"], 2, "for standard output"),
            (["label", "x.csv", "--sample"], 2, "No such command"),
            (["nonsense"], 2, "No such command"),
        ],
        8,
    ),
)
def test_faults_have_their_exit_codes(arguments: list[str], code: int, said: str) -> None:
    """Nothing but results on standard output; 1 for the register's faults, 2 for usage."""
    seen = called(*arguments)

    assert seen.returncode == code
    assert seen.stdout == ""
    assert "Traceback" not in seen.stderr
    assert re.search(said, " ".join(seen.stderr.split()))


def test_the_environment_names_the_register(monkeypatch: pytest.MonkeyPatch) -> None:
    """FINSTAT_KIT_URL chooses the register for a shell."""
    monkeypatch.setenv("FINSTAT_KIT_URL", "sample")

    seen = called("count")

    assert (seen.stdout, seen.returncode) == ("20000\n", 0)


@pytest.mark.slow
def test_a_closed_pipe_is_silent() -> None:
    """`finstat-kit ids | head -2` prints two lines and not a word more."""
    line = " ".join(f"'{part}'" for part in [*COMMAND, "ids", "--sample"])

    seen = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} | head -2"], capture_output=True, text=True
    )

    assert (seen.stdout, seen.stderr, seen.returncode) == ("id\n210\n", "", 0)


@pytest.fixture
def held() -> Iterator[FaultServer]:
    """A register whose third page never comes."""
    pages: list[Sequence[Step]] = [
        [reply(b'{"id":[1,2],"existujeDalsieId":true}')],
        [reply(b'{"id":[3,4],"existujeDalsieId":true}')],
        [HANG],
    ]
    with FaultServer(*pages) as server:
        yield server


@pytest.mark.slow
def test_ids_before_an_interruption_are_written(held: FaultServer) -> None:
    """Ctrl-C ends with 130 and the line to resume with, as in Python."""
    with started("ids", "--url", held.url) as process:
        while len(held.asked) < 3:
            pass
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=10)

    assert printed == "id\n1\n2\n3\n4\n"
    assert said.startswith("cut off after 4 rows, written\ninterrupted after 4 ids; to resume:\n")
    assert "after_id=4" in said
    assert "Traceback" not in said
    assert process.returncode == 130


@pytest.mark.parametrize("name", ["", "ids.ndjson"])
def test_ids_before_an_error_are_written(name: str, tmp_path: Path) -> None:
    """A walk that is cut off by the register ends with 1 and the cursor, as in Python."""
    file = tmp_path / (name or "none")
    page = [reply(b'{"id":[1,2],"existujeDalsieId":true}')]
    with FaultServer(page, [reply(b"", 400)]) as server:
        seen = called("ids", "--url", server.url, *(["-o", str(file)] if name else []))

    assert (seen.stdout, seen.returncode) == ("" if name else "id\n1\n2\n", 1)
    assert not name or pl.read_ndjson(file)["id"].to_list() == [1, 2]
    assert "nothing is lost up to id 2: resume with after_id=2" in seen.stderr


@pytest.mark.slow
def test_serve_prints_its_url_and_ends_cleanly() -> None:
    """The URL is printed when it answers; Ctrl-C ends it cleanly. The same by URL as in process."""
    with started("serve", "--port", "0", "--units", "2000") as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        sample = fk.sample(2_000)
        with fk.using(url):
            assert fk.units.ids().equals(sample.units.ids())
            some = fk.units.ids(limit=50)
            assert fk.resolve_labels(fk.units.get(some)).equals(
                sample.resolve_labels(sample.units.get(some))
            )
        walked = shell("ids", "--url", url, "--collection", "statements")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)

    assert walked.stdout == sample.statements.ids().write_csv()
    assert process.returncode == 0
    assert said == "2,000 invented units; Ctrl-C ends it\n"


def test_a_mirror_is_synced_described_and_verified(tmp_path: Path) -> None:
    """It is synced, described and verified; damage is an exit code."""
    folder = str(tmp_path / "ruz")
    with fk.sample(60).serve() as url:
        synced = run("sync", folder, "--url", url, "--format", "csv")
        again = run("sync", folder, "--url", url, "--full", "--format", "csv")
    told = run("mirror", folder)
    well = run("mirror", folder, "--verify", "--format", "csv")
    name = re.findall(r"^(data/\S+?),", well.stdout, re.MULTILINE)[0]
    file = tmp_path / "ruz" / name
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    ill = run("mirror", folder, "--verify", "--format", "csv")

    assert synced.exit_code == again.exit_code == 0
    assert synced.stdout.splitlines()[1].startswith("units,2000-01-01,")
    assert again.stdout.splitlines()[1].startswith("units,20")
    assert ",0,0,0,0," in again.stdout.splitlines()[1]
    assert told.stdout == (
        f"SAMPLE DATA <Mirror {folder} of finstat_kit sample; seed=0; units=60, "
        "copied as of 2026-06-30>\n"
    )
    assert (well.exit_code, ill.exit_code) == (0, 1)
    assert "it is not as it was written" in ill.stdout.splitlines()[1]


@pytest.mark.slow
def test_a_mirror_of_the_contents_is_synced_within_a_budget(tmp_path: Path) -> None:
    """Their records are kept from then on; what is no time is refused."""
    folder = str(tmp_path / "ruz")
    with fk.sample(8).serve() as url:
        first = run("sync", folder, "--url", url, "--contents", "--budget", "1h", "--format", "csv")
        later = run("sync", folder, "--url", url, "--format", "csv")
        refused = called("sync", folder, "--url", url, "--budget", "long")

    assert first.exit_code == later.exit_code == 0
    names = [line.partition(",")[0] for line in later.stdout.splitlines()]
    assert names[-3:] == ["statements records", "reports records", "annual_reports records"]
    with fk.using(f"mirror:{folder}") as mirror:
        assert mirror.statements.get(mirror.statements.ids(limit=3)).height == 3
    assert refused.returncode == 2
    assert "budget='long'" in refused.stderr
