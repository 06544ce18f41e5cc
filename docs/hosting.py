"""What a hosted site has beside its pages: a search in both languages, a sitemap, a social picture.

Read the Docs hosts a site per version and adds the menu of versions itself.
"""

from __future__ import annotations

import os
import tomllib
import unicodedata
from html import escape
from pathlib import Path
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

_PYPROJECT: Final = Path(__file__).parents[1] / "pyproject.toml"
_PICTURE: Final = "_images/map_districts_en.png"  # of the first page


def base_url() -> str:
    """Return the address of this version's pages: the host's, else that of the project."""
    urls = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["urls"]
    return os.environ.get("READTHEDOCS_CANONICAL_URL", f"{urls['Documentation']}/en/latest/")


class BothLanguages(SearchEnglish):
    """English words by their stems, Slovak ones with or without accents."""

    js_splitter_code = """
const English = window.Stemmer;
window.Stemmer = class {
  inner = new English();
  stemWord = (word) => this.inner.stemWord(word.normalize("NFD").replace(/\\p{M}/gu, ""));
};
"""

    def stem(self, word: str) -> str:
        """Return the word that stands for all forms of a word in the index."""
        letters = unicodedata.normalize("NFD", word)
        return super().stem("".join(c for c in letters if not unicodedata.combining(c)))


def add_social_picture(
    app: Sphinx, page: str, template: str, context: dict[str, object], tree: nodes.document | None
) -> None:
    """Say what is shown where a link to a page is posted."""
    title = None if tree is None else tree.next_node(nodes.title, descend=True)
    if tree is None or title is None:  # the search, the index
        return
    told = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": title.astext(),
        "og:url": f"{app.config.html_baseurl}{page}.html",
        "og:image": app.config.html_baseurl + _PICTURE,
        "og:image:alt": "Units by district on a tile map of Slovakia, invented data",
        "twitter:card": "summary_large_image",
    }
    first = tree.next_node(nodes.paragraph)
    if first is not None:
        told["og:description"] = " ".join(first.astext().split())[:300]
    tags = (f'<meta property="{name}" content="{escape(text)}">' for name, text in told.items())
    context["metatags"] = "\n".join([str(context.get("metatags", "")), *tags])


def write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """Write the addresses of all pages for search engines."""
    if error is not None or app.builder.name != "html":
        return
    places = (
        f"<url><loc>{escape(f'{app.config.html_baseurl}{page}.html')}</loc></url>"
        for page in sorted(app.env.found_docs)
    )
    text = "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
            *places,
            "</urlset>\n",
        ]
    )
    (Path(app.outdir) / "sitemap.xml").write_text(text, encoding="utf-8")
