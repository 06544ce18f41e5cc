"""Files opened again hold what was written; searches and footnotes; bars and refusals."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit import progress
from finstat_kit.errors import BadRequest
from finstat_kit.frames.places.locations import LOCATIONS
from tests.support.examples import slow
from tests.support.faults import FaultServer, Step, reply
from tests.support.registers import Scripted


@pytest.fixture(scope="module")
def units() -> pl.DataFrame:
    sample = fk.sample()
    sample.publish(nazovUJ="=1+1", ico="00000007", kraj="SK031", ulica="http://x.example")
    return sample.units.get(pl.concat([sample.units.ids(limit=20), sample.units.ids().tail(1)]))


def test_parquet_and_ndjson_keep_everything(tmp_path: Path, units: pl.DataFrame) -> None:
    """Both keep everything."""
    assert pl.read_parquet(fk.write(units, tmp_path / "u.parquet")).equals(units)
    again = pl.read_ndjson(fk.write(units, tmp_path / "u.ndjson"), schema_overrides=units.schema)
    assert again.equals(units)


def test_csv_is_what_excel_reads(tmp_path: Path, units: pl.DataFrame) -> None:
    """Excel knows the letters by the mark; lists of ids are joined by blanks."""
    path = fk.write(units.lazy(), str(tmp_path / "u.csv"))

    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,ico,dic")
    again = pl.read_csv(path, infer_schema=False)
    assert again["ico"].to_list() == units["ico"].to_list()
    assert again["nazovUJ"].to_list() == [*units["nazovUJ"][:-1], "'=1+1"]
    lists = again["idUctovnychZavierok"].str.split(" ").cast(pl.List(pl.Int64))
    assert lists.to_list() == units["idUctovnychZavierok"].to_list()


def test_csv_holds_no_text_that_a_spreadsheet_evaluates(tmp_path: Path) -> None:
    """An apostrophe stands before it; numbers have none, and a program takes it away again."""
    texts = ["=1+1", "+a", "-2+3", "@SUM(1)", "\tx", "\rx", "'=1", "''@", "'-5",
             "-5", "-5,3", "+421 905", "-", "'x", "x=1", "Žena", None]  # fmt: skip
    frame = pl.DataFrame({"*": texts, "e": pl.Series(texts, dtype=pl.Categorical)})

    path = fk.write(frame, tmp_path / "x.csv")

    read = pl.read_csv(path)
    for name in ("*", "e"):
        assert read[name].to_list() == [
            text if text is None or place > 8 else f"'{text}" for place, text in enumerate(texts)
        ]
        assert read[name].str.replace(r"^'('*[=+@\t\r-])", "$1").to_list() == texts


@pytest.mark.parametrize("comma", [False, True])
def test_csv_holds_no_formula_in_a_head_or_within_a_text(tmp_path: Path, comma: bool) -> None:
    """Whichever separator a spreadsheet takes, no cell that it reads begins a formula."""
    texts = ["a\n=1+1", "a;=1", "a,@b", "b|+c", "x\r\n-cmd", ";;=1", "a;'=b", "a\t=2",
             "Ulica 5, -3"]  # fmt: skip
    frame = pl.DataFrame({"=1+1": texts, "b;=2": texts, "plain": texts})

    path = fk.write(frame, tmp_path / "x.csv", decimal_comma=comma)

    for cell in re.split(r"[\n\r\t;,|]", path.read_text("utf-8-sig")):
        assert not re.match(r'"?([=@+]|-[a-z])', cell), cell
    read = pl.read_csv(path, separator=";" if comma else ",", infer_schema=False)
    assert read.columns == ["'=1+1", "b;'=2", "plain"]
    assert read["plain"].to_list()[1::5] == ["a;'=1", "a;''=b"]
    assert read["plain"][-1] == "Ulica 5, -3"


def test_csv_by_slovak_settings_has_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    """On request, and of csv alone."""
    frame = pl.DataFrame({"name": ["=a;b"], "sales": [1234.5], "ids": [[1, 2]]})

    path = fk.write(frame, tmp_path / "x.csv", decimal_comma=True)

    assert path.read_text("utf-8-sig") == 'name;sales;ids\n"\'=a;b";1234,5;1 2\n'
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with pytest.raises(fk.UsageError, match="decimal_comma: a xlsx file cannot hold it; write csv"):
        fk.write(frame, tmp_path / "x.xlsx", decimal_comma=True)


def test_xlsx_keeps_codes_as_text(tmp_path: Path, units: pl.DataFrame) -> None:
    """Codes, IČO and DIČ stay text, dates are dates, no name becomes a formula or a link."""
    path = fk.write(units, tmp_path / "u.xlsx", note="Prameň: vymyslené údaje\n=1+1")

    book = openpyxl.load_workbook(path)
    sheet = book.active
    assert sheet is not None
    rows = list(sheet.iter_rows(values_only=True))
    cells = list(sheet.iter_rows())
    assert list(rows[0]) == units.columns
    for row, record in zip(rows[1:22], units.to_dicts(), strict=True):
        seen = dict(zip(units.columns, row, strict=True))
        assert (seen["id"], seen["ico"], seen["dic"]) == (
            record["id"],
            record["ico"],
            record["dic"],
        )
        assert (seen["kraj"], seen["nazovUJ"]) == (record["kraj"], record["nazovUJ"])
        joined = record["idUctovnychZavierok"]
        assert seen["idUctovnychZavierok"] == (" ".join(map(str, joined)) if joined else None)
    last = dict(zip(units.columns, cells[21], strict=True))
    assert (last["nazovUJ"].value, last["nazovUJ"].data_type) == ("=1+1", "s")
    assert last["ulica"].hyperlink is None
    changed = last["datumPoslednejUpravy"]
    assert changed.is_date
    assert str(changed.value)[:10] == "2026-06-30"
    assert len(rows) == 1 + units.height
    assert book.sheetnames[1:] == ["source", "fields"]
    note = [(row[0].value, row[0].data_type) for row in book["source"].iter_rows()]
    assert note == [("Prameň: vymyslené údaje", "s"), ("=1+1", "s")]


def test_a_write_that_fails_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A write that fails leaves what was there and nothing else."""
    path = fk.write(pl.DataFrame({"a": [1]}), tmp_path / "x.csv")
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(fk.UsageError, match="the column 'a' holds values of Struct"):
        fk.write(pl.DataFrame({"a": [{"b": 1}]}), path)
    with pytest.raises(fk.UsageError, match=r"folder\.csv' cannot be written"):
        fk.write(pl.DataFrame({"a": [1]}), tmp_path / "folder.csv")

    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv", "x.csv"]
    assert pl.read_csv(path).height == 1


@pytest.mark.parametrize(
    ("frame", "path", "note", "named"),
    [
        (pl.DataFrame(), "x.xls", None, "ends in .csv, .xlsx"),
        (pl.DataFrame(), "x", None, "path='x'"),
        (pl.DataFrame(), "x.csv", "Prameň", "note: a csv file"),
        (["a"], "x.csv", None, "frame is a list"),
        (pl.DataFrame(), 5, None, "path=5 is not a path"),
        (pl.DataFrame(), "x.xlsx", 5, "note=5 is not a text"),
        (pl.DataFrame(), "x.xlsx", "\ud800", r"note='\\ud800' is not a text"),
        (pl.DataFrame(), "x.xlsx", "\n" + "x" * 40_000, "note: a sheet of xlsx cannot hold it"),
    ],
)
def test_what_cannot_be_written_is_refused(frame: object, path: Any, note: Any, named: str) -> None:
    """The error says what can."""
    with pytest.raises(fk.UsageError, match=named):
        fk.write(frame, path, note=note)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["none/x.csv", "file/x.csv", "y" * 252 + ".csv", "y" * 300 + ".csv", "x\0.csv", "l.csv"]
)
def test_places_where_no_file_can_be_are_refused(tmp_path: Path, name: str) -> None:
    """The error names the path, and nothing is left behind."""
    (tmp_path / "file").touch()
    (tmp_path / "l.csv").symlink_to("l.csv")

    with pytest.raises(fk.UsageError, match=r"path=.* (cannot be written|is not a path).*; give "):
        fk.write(pl.DataFrame({"a": [1]}), tmp_path / name)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "l.csv"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays(tmp_path: Path, there: bool) -> None:
    """What it leads to is written, whether it was there or not."""
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "x.txt", tmp_path / "link.csv"
    if there:
        target.write_text("before")
    link.symlink_to("real/x.txt")

    assert fk.write(pl.DataFrame({"a": [1]}), link) == link

    assert link.is_symlink()
    assert pl.read_csv(target).to_dicts() == [{"a": 1}]
    assert [path.name for path in target.parent.iterdir()] == ["x.txt"]


def test_no_file_takes_the_place_of_a_pipe_or_a_folder(tmp_path: Path) -> None:
    """Both are refused, also behind a link, and stay what they are."""
    if sys.platform == "win32":
        pytest.skip("pipes of Windows are no files")
    pipe, folder, link = (tmp_path / f"{name}.csv" for name in ("pipe", "folder", "link"))
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(pipe.name)

    for path in (pipe, folder, link):
        with pytest.raises(fk.UsageError, match=r"cannot be written \(not a file\)"):
            fk.write(pl.DataFrame({"a": ["x"]}), path)

    assert stat.S_ISFIFO(link.stat().st_mode)
    assert folder.is_dir()


@pytest.mark.parametrize("suffix", ["xlsx", *slow("csv", "parquet", "ndjson")])
def test_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error of ours with the system's reason, and nothing is left behind."""
    resource = pytest.importorskip("resource")  # which Windows has not
    # Bytecode cut short by the limit would stop later runs.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    whole = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, whole[1]))
    try:
        with pytest.raises(fk.RegisterError, match="File too large"):
            fk.write(pl.DataFrame({"a": range(20_000)}), tmp_path / f"x.{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, whole)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    """What only its owner may read stays so, by a link too; a new file has those of the system."""
    private, link = tmp_path / "private.csv", tmp_path / "link.csv"
    private.write_bytes(b"before")
    private.chmod(0o600)
    link.symlink_to(private.name)
    plain = tmp_path / "plain.csv"
    plain.write_bytes(b"")

    for path in (private, link, tmp_path / "new.csv"):
        fk.write(pl.DataFrame({"a": [1]}), path)

    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert (tmp_path / "new.csv").stat().st_mode == plain.stat().st_mode
    assert link.is_symlink()
    assert private.read_bytes() != b"before"


def test_places_are_found_in_alphabetical_order() -> None:
    """Of Slovak: an accent orders nothing but equal words, except on a letter of its own."""
    names = fk.sample(0).locations("b", level="district")["name_sk"].to_list()

    begun = [name for name in names if name.startswith("B")]
    assert begun[:2] == ["Bánovce nad Bebravou", "Banská Bystrica"]
    assert begun[-2:] == ["Brezno", "Bytča"]


def test_places_are_found_without_accents_and_case() -> None:
    """Accents and case are ignored; what begins so comes first; codes count too."""
    with fk.using(fk.sample()):
        found = fk.locations("NOVE")
        by_code = fk.locations("sk0315")
        one = fk.locations("Žiar", level="district")
        assert fk.locations("žia.").is_empty()  # a text, no pattern

    assert found.columns == list(LOCATIONS)
    names = found["name_sk"].to_list()
    assert names[:2] == ["Nové Mesto nad Váhom", "Nové Zámky"]
    assert "Bratislava-Nové Mesto" in names
    assert names.index("Bratislava-Nové Mesto") > names.index("Nové Zámky")
    assert by_code["code"].to_list() == ["SK0315", "SK0315510262"]
    assert one.select(one.columns[:6]).rows() == [
        ("district", "SK032D", "Žiar nad Hronom", "Žiar nad Hronom", "Žiar nad Hronom",
         "Banskobystrický kraj"),
    ]  # fmt: skip
    with pytest.raises(fk.UsageError, match="level='town'"):
        fk.sample(0).locations("x", level="town")  # type: ignore[arg-type]


def test_a_footnote_names_the_register_and_its_day() -> None:
    """A footnote names the register and when it answered; a sample's says it is invented."""
    reg = Scripted(b'{"pocetZostavajucichId":1}')
    silent = reg.cite(lang="en")
    reg.units.count()

    assert "no reply yet" in silent
    assert f"{date.today():%Y}-" in reg.cite()
    assert reg.cite().startswith("scripted:, údaje prevzaté")
    live = fk.Register(fk.LIVE)
    assert live.cite().startswith(f"Register účtovných závierok, {fk.LIVE}, licencia CC0, zatiaľ")
    assert "Register of Financial Statements (Slovakia)" in live.cite(lang="en")
    assert "Invented data" in fk.sample(7).cite(lang="en")
    assert "Vymyslené údaje" in fk.sample(7).cite()
    with pytest.raises(fk.UsageError, match="lang='de'"):
        reg.cite(lang="de")  # type: ignore[arg-type]


@pytest.mark.slow
def test_days_of_waiting_are_refused() -> None:
    """10,001 records of a real host are refused before the first, with number, time and cure."""
    reg = fk.Register("http://register.example")

    with pytest.raises(
        fk.UsageError,
        match=r"10,001 requests, one per record, about 33 to 63 minutes.*max_requests=10001",
    ):
        reg.units.get(range(1, 10_002))
    with pytest.raises(fk.UsageError, match="about 6 to 11 days"):
        reg.units.get(range(1, 2_620_000))
    with pytest.raises(fk.UsageError, match="max_requests=5"):
        fk.sample(20).units.get(range(6), max_requests=5)

    assert reg.stats.requests == 0


def far(url: str) -> str:
    """Return another spelling of this machine's address, which the kit takes for a real host."""
    return url.replace("127.0.0.1", "127.1")


def test_a_real_host_is_sent_ten_thousand_requests_unasked() -> None:
    """By default 10,000 records are asked for, 10,001 are refused before the first."""
    with FaultServer([reply(b"", 400)]) as server, fk.Register(far(server.url)) as reg:
        assert reg.rate == 5
        for ids in (range(1, 10_002), pl.DataFrame({"id": range(10_001)})):
            with pytest.raises(fk.UsageError, match=r"^this needs 10,001 requests"):
                reg.units.get(ids)
        assert (server.asked, reg.stats.requests) == ([], 0)

        with pytest.raises(BadRequest):  # sent, and refused by the server
            reg.units.get([*range(1, 10_001), 1])

        assert "/api/uctovna-jednotka?id=1" in server.asked


def test_a_near_host_has_no_limit() -> None:
    """On loopback any number of records is asked for."""
    with FaultServer([reply(b"", 400)]) as server, fk.Register(server.url) as near:
        with pytest.raises(BadRequest):
            near.units.get(range(1, 10_002))


def test_a_bar_shows_the_total_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    """A bar shows the total when it is wanted, and nothing when nobody looks."""
    sample = fk.sample(30)

    sample.units.get(sample.units.ids())
    assert capsys.readouterr() == ("", "")
    sample.units.get(sample.units.ids(progress=True), progress=True)

    shown = capsys.readouterr().err
    assert "30/30" in shown
    assert "records" in shown
    assert "ids" in shown


def test_a_bar_is_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By default a bar is shown for a real host on a terminal, not in a pipe."""

    def shown(*, remote: bool, terminal: bool, progress_: bool | None = None) -> bool:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
        with progress.bar("ids", 5, watched=remote, progress=progress_) as advance:
            advance(5)
        return "5/5" in capsys.readouterr().err

    assert shown(remote=True, terminal=True)
    assert not shown(remote=True, terminal=False)
    assert not shown(remote=False, terminal=True)
    assert not shown(remote=True, terminal=True, progress_=False)
    assert shown(remote=False, terminal=False, progress_=True)


class Counted(FaultServer):
    """Answers a list by its script and a count by `count`, which may wait."""

    count = b"{}"

    def _next(self, request: str) -> Sequence[Step]:
        if "zostavajuce" not in request:
            return super()._next(request)
        return [reply(self.count)]


@pytest.mark.parametrize(
    "count", [b"{}", b'{"pocetZostavajucichId":-1}', b'{"pocetZostavajucichId":1%b}' % (b"0" * 309)]
)
def test_a_count_that_fails_costs_the_bar_its_total(
    count: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """A count is a hint: the walk is the same without it."""
    with Counted([reply(b'{"id":[1,2],"existujeDalsieId":false}')]) as server:
        server.count = count
        with fk.Register(server.url) as reg:
            ids = reg.units.ids(progress=True)

    assert ids["id"].to_list() == [1, 2]
    assert "2 ids" in capsys.readouterr().err
