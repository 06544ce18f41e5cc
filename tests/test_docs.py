"""README and docs are true: their code runs, their links exist, no public name is missing."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import finstat_kit as fk
from tests.support.pages import FENCED, ROOT, blocks, difference, links, pages, run

DOCS = ROOT / "docs"
PAGES = pages()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


FIRST = ("README.md", "docs/start.md", "docs/howto/first-hour.md")  # what a newcomer reads
RUN = [
    pytest.param(page, id=name, marks=() if name in FIRST else pytest.mark.slow)
    for page in PAGES
    for name in [name_of(page)]
]


@pytest.fixture(scope="session")
def in_git() -> set[Path]:
    """Give the files that a fresh clone has; staged ones count."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {ROOT / name for name in listed.stdout.split("\0") if name}


@pytest.mark.parametrize("path", RUN)
@pytest.mark.filterwarnings(
    "ignore:FigureCanvasAgg", "ignore:both frames are windows", "ignore:units match"
)
def test_python_blocks_give_what_they_show(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page run in order, in one namespace; they print and draw what follows."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}

    for block in blocks(path.read_text(encoding="utf-8")):
        if block.reason is None:
            assert run(block, namespace) == block.output, block.code
            if block.picture is not None:
                assert difference(namespace.pop("ax"), path.parent / block.picture) < 3, block.code
        else:
            ast.parse(block.code)
            assert not block.output, "what is not run can have no output"


def test_every_python_block_is_found() -> None:
    """No fence that readers take for Python escapes the test above; few blocks are not run."""
    found = [block for path in PAGES for block in blocks(path.read_text(encoding="utf-8"))]
    fences = sum(
        len(re.findall(r"^ *```+ *(?:python|py)\b", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in PAGES
    )

    assert len(found) == fences
    assert sum(block.reason is not None for block in found) * 5 < len(found)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_and_pictures_are_in_git(path: Path, in_git: set[Path]) -> None:
    """Every relative link leads to a file of a fresh clone, and to a heading that it has."""
    folders = {folder for file in in_git for folder in file.parents}
    for link in links(path.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        # The notebooks are copied to docs/notebooks when the site is built.
        file = (path.parent / target).resolve() if target else path
        if file.suffix == ".ipynb" and file.parent == DOCS / "notebooks":
            file = ROOT / "notebooks" / file.name

        assert file in in_git | folders, f"{link} is not in git"
        if anchor:
            assert anchor in headings(file), f"{link}: there is no such heading"


def headings(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_public_name_is_in_the_reference() -> None:
    """Each name of the package stands on one page of the reference, and nothing else does."""
    entry = re.compile(
        r"^\.\. (?:auto(?:function|class|exception):: finstat_kit\.|py:data:: )(\w+)$", re.MULTILINE
    )
    listed = Counter(
        name
        for path in (DOCS / "reference").glob("*.md")
        for name in entry.findall(path.read_text(encoding="utf-8"))
    )

    assert listed == Counter(dir(fk))


def test_every_public_name_has_a_task() -> None:
    """The table of the reference by task names what users type, all of it and nothing else."""
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in index.splitlines() if line.startswith("| "))

    assert set(re.findall(r"`fk\.(\w+)", table)) == set(dir(fk))


def test_the_citation_names_this_version() -> None:
    """CITATION.cff is about the version that is here."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    assert f"\nversion: {fk.__version__}\n" in citation


def test_every_page_is_reachable() -> None:
    """Each page of the site stands in the table of contents of its folder or of the first page."""
    for path in DOCS.rglob("*.md"):
        if path in PAGES and path != DOCS / "index.md":
            index = path.parent / "index.md"
            above = DOCS / "index.md"
            name = path.relative_to(DOCS if path.name == "index.md" else path.parent)
            contents = (above if path.name == "index.md" else index).read_text(encoding="utf-8")

            assert f"\n{name.with_suffix('')}\n" in contents, path


def test_the_picture_of_the_layers_is_the_contract() -> None:
    """The site draws each part of the contract in pyproject once, and describes nothing else."""
    script = (
        "import sys; sys.path.insert(0, 'docs'); import generate\n"
        "print(generate.layers_picture(generate.layers()))\n"
        "print(*generate.PARTS)"
    )
    drawn = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    parts = [part for layer in contract["layers"] for part in layer.split(" | ")]

    picture, _, described = drawn.stdout.strip().rpartition("\n")

    assert re.findall(r'class="name"[^>]*>([^<]+)<', picture) == parts
    assert sorted(described.split()) == sorted(parts)


def test_how_fast_shows_every_benchmark() -> None:
    """Each module with figures has a table written by run.py, and the page includes it."""
    measured = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if "\ndef figures(" in path.read_text(encoding="utf-8")
    }
    tables = {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.md")}
    page = (DOCS / "how-fast.md").read_text(encoding="utf-8")

    assert measured
    assert tables == measured
    assert set(re.findall(r"\{include\} \.\./benchmarks/results/(\w+)\.md", page)) == measured


_NOT_LOADED = ("next", "prev", "search", "index", "canonical")


class _Targets(HTMLParser):
    """What an HTML page refers to, and where it can be entered."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links, the loaded files and the ids of a tag."""
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.targets.append(values["href"])
        elif tag in ("img", "script", "iframe") and "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") not in _NOT_LOADED:
            self.loaded.append(values.get("href", ""))


@pytest.mark.slow
def test_the_site_builds_is_whole_and_can_be_searched(tmp_path: Path) -> None:
    """No warning, no link to nothing, nothing loaded from the network; what people look for."""
    pytest.importorskip("myst_nb", reason="the extra docs is not installed")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "_generated"))
    for part in (
        "notebooks",
        "pyproject.toml",
        "SECURITY.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "benchmarks",
    ):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)
    site = tmp_path / "site"

    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "docs", str(site)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stderr
    read: dict[Path, _Targets] = {}
    for path in set(site.rglob("*.html")) - set((site / "_static").rglob("*")):
        read[path] = _Targets()
        read[path].feed(path.read_text(encoding="utf-8"))
    for path, page in read.items():
        assert not [url for url in page.loaded if urlsplit(url).netloc], path
        for target in page.targets + page.loaded:
            parts = urlsplit(target)
            if not parts.scheme:
                file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                assert file.is_file(), f"{path}: {target}"
                assert (
                    not parts.fragment
                    or file not in read
                    or (unquote(parts.fragment) in read[file].anchors)
                ), f"{path}: {target}"
    assert "howto/counts" in _searched(site, "company by name")
    assert "gallery" in _searched(site, "municipality total assets")
    assert "reference/whose-figures" in _searched(site, "micro small")
    assert "reference/records" in _searched(site, "kód obce")
    assert _searched(site, "kod obce") == _searched(site, "kód obce")
    _check_hosting(site, set(read))


def _check_hosting(site: Path, pages: set[Path]) -> None:
    """Every page of the contents is in the sitemap and names its picture, which is there."""
    sitemap = (site / "sitemap.xml").read_text(encoding="utf-8")
    base, _, _ = re.findall(r"<loc>(.*?)</loc>", sitemap)[0].partition("changelog")
    listed = {site / place.removeprefix(base) for place in re.findall("<loc>(.*?)</loc>", sitemap)}

    assert base.startswith("https://")
    assert pages - listed == {site / f"{name}.html" for name in ("genindex", "search")}
    for path in listed:
        text = path.read_text(encoding="utf-8")
        (picture,) = re.findall(r'<meta property="og:image" content="(.*?)">', text)
        assert (site / picture.removeprefix(base)).is_file()
        assert f'<meta property="og:url" content="{base}' in text


def _searched(site: Path, words: str) -> set[str]:
    """Return the pages that the search of a site finds: those with all words, by their stems."""
    sys.path.insert(0, str(DOCS))
    from hosting import BothLanguages

    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    language = BothLanguages({})
    pages = set(index["docnames"])
    for word in set(words.split()) - set(language.stopwords):
        having = [index[part].get(language.stem(word), []) for part in ("terms", "titleterms")]
        places = {n for one in having for n in ([one] if isinstance(one, int) else one)}
        pages &= {index["docnames"][n] for n in places}
    return pages
