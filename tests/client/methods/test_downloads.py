"""Files of reports: names, checks, what is there already, and what goes wrong with one of many."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.client.methods.downloads import DOWNLOADS
from finstat_kit.frames.reports.attachments import ATTACHMENTS, file_name
from finstat_kit.in_place import put_in_place
from finstat_kit.protocol.wire import Reply
from tests.support.registers import Scripted, Watched

PDF = b"%PDF-1.4 " + b"x" * 100


def file(id_: int, body: bytes = PDF, **more: object) -> dict[str, object]:
    return {
        "id": id_,
        "meno": f"file {id_}.pdf",
        "mimeType": "application/pdf",
        "velkostPrilohy": len(body),
        "pocetStran": 0,
        "digest": sha256(body).hexdigest(),
        "jazyk": "SLK",
    } | more


def listed(*files: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([{"report_id": 1} | one for one in files], schema=ATTACHMENTS, orient="row")


def test_files() -> None:
    """One row per file in the order of the records, eager and lazy; records without have none."""
    reports = pl.DataFrame(
        {"id": [5, 6, 7, 8], "prilohy": [[file(1), file(2)], None, [], [file(3)]]}
    )

    found = fk.reports.files(reports)

    assert found.schema == ATTACHMENTS
    assert found.select("report_id", "id").rows() == [(5, 1), (5, 2), (8, 3)]
    assert found.row(0)[2:] == tuple(file(1).values())[1:]
    assert fk.reports.files(reports.lazy()).collect().equals(found)
    none = pl.DataFrame({"id": [1], "prilohy": [None]})
    assert fk.reports.files(none).equals(pl.DataFrame(schema=ATTACHMENTS))
    few = pl.DataFrame({"id": [1], "prilohy": [[{"id": 4}]]})
    assert fk.reports.files(few).row(0) == (1, 4, None, None, None, None, None, None)
    for wrong in (pl.DataFrame({"id": [1]}), pl.DataFrame({"id": [1], "prilohy": ["a"]}), [1]):
        with pytest.raises(fk.UsageError, match="reports"):
            fk.reports.files(wrong)  # type: ignore[type-var]


@given(st.integers(0, 2**63), st.text(max_size=300))
def test_names_are_safe(id_: int, name: str) -> None:
    """Whatever the register calls a file, it lies in the folder, under a name that begins so."""
    found = file_name(id_, name, "application/pdf")

    assert found.startswith(str(id_))
    assert Path(found).name == found
    assert not set(found) & set('<>:"/\\|?*')
    assert not {unicodedata.category(sign) for sign in found} & {"Cc", "Cf", "Zl", "Zp"}
    assert len(found.encode()) < 200
    assert found == found.strip(". ")


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("správa audítora.PDF", None, "7_správa audítora.PDF"),
        ("../../etc/passwd", None, "7_passwd"),
        ("C:\\Windows\\x.pdf", None, "7_x.pdf"),
        ("..", "application/pdf", "7.pdf"),
        (None, "application/zip", "7.zip"),
        ("", None, "7"),
        ("a\nb\x00c.pdf", None, "7_a b c.pdf"),
        ("x" * 500 + ".pdf", None, f"7_{'x' * 120}.pdf"),
        ("bez pripony", "application/pdf", "7_bez pripony.pdf"),
        ("bez pripony", "application/xhtml+xml", "7_bez pripony.xhtml"),
        ("\u202efdp.exe", None, "7_fdp.exe"),
        ("a\u2066b\u200bc\u00add\ufeff.pdf", None, "7_abcd.pdf"),
        ("..\u200e/..\u200b", "application/pdf", "7.pdf"),
    ],
)
def test_names(name: str | None, kind: str | None, expected: str) -> None:
    """Folders, control characters and length go; the suffix stays."""
    assert file_name(7, name, kind) == expected


def test_download_and_resume(tmp_path: Path) -> None:
    """What is there and right is kept; what is there and wrong is fetched again."""
    files = listed(file(1), file(2), file(3), file(1))
    reg = Scripted(PDF, PDF, PDF, PDF)

    first = reg.reports.download(files, tmp_path / "pdf")

    assert first.schema == DOWNLOADS
    assert first.rows() == [
        (n, str(tmp_path / "pdf" / f"{n}_file {n}.pdf"), 109, True, "downloaded", None)
        for n in (1, 2, 3)
    ]
    assert reg.asked == [f"/domain/financialreport/attachment/{n}?" for n in (1, 2, 3)]
    assert {p.name: p.read_bytes() for p in (tmp_path / "pdf").iterdir()} == {
        f"{n}_file {n}.pdf": PDF for n in (1, 2, 3)
    }
    (tmp_path / "pdf" / "2_file 2.pdf").write_bytes(PDF[:-1] + b"y")
    again = reg.reports.download(files, tmp_path / "pdf")
    assert again["status"].to_list() == ["kept", "downloaded", "kept"]
    assert len(reg.asked) == 4
    assert (tmp_path / "pdf" / "2_file 2.pdf").read_bytes() == PDF


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    """Each failure has its row; nothing of it is left in the folder."""
    html = b"<html>vypadok</html>"
    reg = Scripted(
        Reply(404, {}, b""),
        PDF + b"more",
        html,
        Reply(403, {}, b"<html>blocked"),
        PDF,
        Reply(404, {}, b"<html>HTTP Status 404"),
    )
    files = listed(
        file(1), file(2), file(3), file(4), file(5, velkostPrilohy=10**9), file(6), file(7),
    )  # fmt: skip

    report = reg.reports.download(files, tmp_path)

    assert report["status"].to_list() == ["failed"] * 5 + ["downloaded", "failed"]
    problems = report["problem"].to_list()
    assert "404" in problems[0]
    assert problems[6] == problems[0]
    assert "SHA-256 is" in problems[1]
    assert "HTML" in problems[2]
    assert "403" in problems[3]
    assert problems[4] == "1,000,000,000 bytes, more than max_bytes=67,108,864"
    assert len(reg.asked) == 6
    assert [p.name for p in tmp_path.iterdir()] == ["6_file 6.pdf"]


def test_without_a_digest(tmp_path: Path) -> None:
    """The size is all there is to check; the report says that the digest was not."""
    files = listed(
        file(1, digest=None),
        file(2, digest=None, velkostPrilohy=5),
        file(3, digest=None, velkostPrilohy=None),
    )
    reg = Scripted(PDF, PDF, PDF, PDF, PDF)

    report = reg.reports.download(files, tmp_path)

    assert report.select("status", "checked").rows() == [
        ("downloaded", False), ("failed", False), ("downloaded", False),
    ]  # fmt: skip
    again = reg.reports.download(files, tmp_path)
    assert again["status"].to_list() == ["kept", "failed", "downloaded"]


XHTML = b'\xef\xbb\xbf<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'


@pytest.mark.parametrize("known", [{}, {"digest": None}])
def test_a_file_of_markup_is_no_outage_page(known: dict[str, object], tmp_path: Path) -> None:
    """Reports in ESEF are XHTML: size and digest decide, and an outage page has others."""
    page = b"<!DOCTYPE html><p>Out of order"
    reg = Scripted(XHTML, page)

    report = reg.reports.download(
        listed(file(1, XHTML, **known), file(2, XHTML, **known)), tmp_path
    )

    assert report["status"].to_list() == ["downloaded", "failed"]
    assert Path(report["path"][0]).read_bytes() == XHTML
    assert "HTML under status 200: “Out of order”; most likely an outage" in report["problem"][1]


def test_an_annual_report_of_a_kind_that_nobody_knows_is_kept_with_its_file(
    tmp_path: Path,
) -> None:
    """Such as an income tax report, which comes in XHTML: by requests, and in a mirror."""
    register = Watched(fk.sample(30))
    kind = "Správa s informáciami o dani z príjmov"
    attached = file(77, XHTML, meno="danova sprava", mimeType="application/xhtml+xml")

    def answer(path: str, query: str) -> Reply | None:
        if path == "/api/vyrocna-sprava":
            reply = register.sample._answer("GET", path, query)
            body = json.loads(reply.body) | {"typ": kind, "prilohy": [attached]}
            return reply._replace(body=json.dumps(body).encode())
        return Reply(200, {}, XHTML) if "attachment" in path else None

    register.instead = answer
    id_ = register.annual_reports.ids(limit=1)["id"][0]
    mirror = fk.Mirror(tmp_path / "ruz", contents=True, register=register)
    mirror.sync(progress=False)

    for source in (register, mirror):
        report = source.annual_reports.get(id_)
        assert report["typ"].item() == kind
    done = register.reports.download(fk.reports.files(report), tmp_path / "files")
    assert done.select("status", "checked").rows() == [("downloaded", True)]
    path = Path(done["path"].item())
    assert path.name == "77_danova sprava.xhtml"
    assert path.read_bytes() == XHTML


def test_a_page_in_place_of_a_file_of_unknown_size_is_refused(tmp_path: Path) -> None:
    """Nothing in its record would tell it from an outage page."""
    unknown = file(1, velkostPrilohy=None, digest=None)

    report = Scripted(b"<p>Out of order").reports.download(listed(unknown), tmp_path)

    assert "page of HTML" in report["problem"].item()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link under the name of a file is replaced; what it leads to stays."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "1_file 1.pdf").symlink_to(victim)

    Scripted(PDF).reports.download(listed(file(1)), folder)

    assert victim.read_bytes() == b"mine"
    assert not (folder / "1_file 1.pdf").is_symlink()
    assert (folder / "1_file 1.pdf").read_bytes() == PDF


def test_a_link_at_a_temporary_name_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever name a part has: here each is known in advance."""
    names = {f".{'0' * 16}.part", ".1_file 1.pdf.part"}
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 2 * size)
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(victim)

    report = Scripted(PDF).reports.download(listed(file(1)), folder)

    assert victim.read_bytes() == b"mine"
    assert report["problem"].to_list() == ["cannot be written: File exists"]


def test_two_downloads_of_one_file_share_no_part(tmp_path: Path) -> None:
    """The second one ends while the first one writes: each time the name holds a whole file."""
    files = listed(file(1), file(2, PDF * 2, meno="file 1.pdf"))
    (path,) = {file_name(1, "file 1.pdf", None)}
    seen: list[bytes] = []

    with put_in_place(tmp_path / path) as first:
        first.write(PDF[:50])
        first.flush()
        Scripted(PDF, PDF * 2).reports.download(files, tmp_path)
        seen.append((tmp_path / path).read_bytes())
        first.write(PDF[50:])
    seen.append((tmp_path / path).read_bytes())

    assert seen == [PDF, PDF]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1_file 1.pdf", "2_file 1.pdf"]


def test_a_file_of_the_right_size_is_fetched_again_where_its_digest_is_another(
    tmp_path: Path,
) -> None:
    """And without a digest, a file of another size."""
    files = listed(file(1), file(2, digest=None), file(3, digest=None))
    for id_, content in {1: b"y" * len(PDF), 2: PDF[:-1], 3: b"y" * len(PDF)}.items():
        (tmp_path / f"{id_}_file {id_}.pdf").write_bytes(content)

    report = Scripted(PDF, PDF).reports.download(files, tmp_path)

    assert report["status"].to_list() == ["downloaded", "downloaded", "kept"]
    assert report["bytes"].to_list() == [len(PDF)] * 3


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_no_part(tmp_path: Path) -> None:
    """The file that does not fit is reported, and nothing of it is left."""
    line = f"""
import resource
from pathlib import Path
from tests.client.methods.test_downloads import PDF, Scripted, file, listed
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
files = listed(file(1), file(2, PDF * 90))
report = Scripted(PDF, PDF * 90).reports.download(files, {str(tmp_path)!r})
print(report["problem"].to_list())
"""
    command = [sys.executable, "-B", "-c", line]  # bytecode would be cut off too, and stay
    seen = subprocess.run(command, capture_output=True, text=True)

    assert seen.stdout == "[None, 'cannot be written: File too large']\n", seen.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["1_file 1.pdf"]


def test_interrupted(tmp_path: Path) -> None:
    """The rows so far are in the error; the same call resumes there."""
    files = listed(file(1), file(2), file(3))
    reg = Scripted(PDF, KeyboardInterrupt(), PDF, PDF)

    with pytest.raises(fk.errors.Interrupted, match="after 1 of 3 files") as caught:
        reg.reports.download(files, tmp_path)

    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() == [1]
    assert reg.reports.download(files, tmp_path)["status"].to_list() == [
        "kept", "downloaded", "downloaded",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_sample_has_files(tmp_path: Path) -> None:
    """A small PDF for each; the same in process and by URL, over many connections."""
    sample = fk.sample(300)
    reports = sample.reports.get(sample.reports.ids(limit=200), errors="keep")
    annual = sample.annual_reports.get(sample.annual_reports.ids(limit=20), errors="keep")
    files = pl.concat([fk.reports.files(reports), fk.reports.files(annual)])

    with sample.serve() as url, fk.Register(url, connections=4) as reg:
        report = reg.reports.download(files, tmp_path / "url")

    assert report.height > 40
    assert report["status"].to_list() == ["downloaded"] * report.height
    assert report["checked"].all()
    assert Path(str(report["path"][0])).read_bytes().startswith(b"%PDF-1.4\n")
    again = sample.reports.download(files, tmp_path / "url")
    assert again["status"].to_list() == ["kept"] * report.height


@pytest.mark.parametrize(
    ("files", "folder", "named"),
    [
        (pl.DataFrame({"id": [1]}), "x", "give what fk.reports.files"),
        ([1], "x", "files is a list"),
        (listed(file(1)).with_columns(id=pl.lit("../up")), "x", "give what fk.reports.files"),
        (listed(file(1)).with_columns(id=pl.lit(5.0)), "x", "give what fk.reports.files"),
        (
            listed(file(1)).with_columns(velkostPrilohy=pl.lit("3")),
            "x",
            "give what fk.reports.files",
        ),
        (listed(file(-5)), "x", "files: .*-5"),
        (listed(file(1)), "no/such/folder", "folder="),
        (listed(file(1)), 5, "folder=5 is not a path"),
        (listed(file(1)), "x" * 300, "folder=.*File name too long.*give one in an existing folder"),
        (listed(file(1)), "x\0", "folder=.*is not a path; give one such as"),
    ],
)
def test_wrong_calls(files: object, folder: object, named: str, tmp_path: Path) -> None:
    """They are refused before any request."""
    place = tmp_path / folder if isinstance(folder, str) else folder
    reg = Scripted()
    with pytest.raises(fk.UsageError, match=named):
        reg.reports.download(files, place)  # type: ignore[arg-type]
    assert reg.asked == []
