"""Settings of the documentation: ``sphinx-build -W --keep-going -n docs docs/_build/html``.

Nothing is executed and nothing is downloaded: notebooks are rendered from their saved outputs, and
everything below ``_generated`` is written by `generate` from the package itself.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Final

from docutils import nodes
from docutils.nodes import Element, TextElement
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import finstat_kit as fk

sys.path.insert(0, str(Path(__file__).parent))

import generate
import hosting

project = "finstat_kit"
version = release = fk.__version__
copyright = "the finstat_kit developers, MIT licence"  # noqa: A001  (Sphinx names it so)
language = "en"

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
exclude_patterns = ["_build", "_generated"]
default_role = "py:obj"
add_module_names = False
python_display_short_literal_types = True
maximum_signature_line_length = 72

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # the default loads scripts from the network

html_theme = "pydata_sphinx_theme"
html_title = f"finstat_kit {release}"
html_baseurl = hosting.base_url()
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
_ALONE: Final = (
    "index",
    "start",
    "start-sk",
    "how-fast",
    "how-it-is-built",
    "what-stays",
    "contributing",
    "changelog",
)
html_sidebars: dict[str, list[str]] = {page: [] for page in _ALONE}

# Types of other libraries in signatures: their inventories are on the network.
nitpick_ignore_regex = [(r"py:(class|data|exc|func)", r".*")]

_SHORT: Final = re.compile(r"^(?:fk|finstat_kit)\.(?P<name>\w+)(?:\.(?P<member>\w+))?$")
_CLASS_OF: Final = {
    "units": "Units",
    "statements": "Collection",
    "reports": "Reports",
    "annual_reports": "Documents",
}
_NOT_CONSTRUCTED: Final = ("Collection", "Documents", "Pages", "Reports", "Sample", "Units")


def resolve_short_names(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: TextElement
) -> Element | None:
    """Link `fk.units.get` and `get` of a docstring to their entries; a name of no entry is code."""
    if node["reftype"] != "obj" or node["reftarget"] == "None":
        return None
    found = _SHORT.match(node["reftarget"])
    name, member = (found["name"], found["member"]) if found else (node["reftarget"], None)
    candidates = [f"finstat_kit.{name}"]
    if member is not None:
        candidates = [f"finstat_kit.{_CLASS_OF.get(name, name)}.{member}"]
    domain = env.domains.python_domain
    for candidate in candidates:
        if candidate in domain.objects:
            return domain.resolve_xref(
                env, node["refdoc"], app.builder, "obj", candidate, node, content
            )
    return nodes.literal("", content.astext())


def keep_colons(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Put an empty text before sentences in which napoleon would take a colon for a type's."""
    if what == "property":
        lines.insert(0, "\\ ")
    for number in reversed(range(len(lines))):
        heading = lines[number]
        if heading.strip() in ("Returns:", "Yields:"):
            indented = " " * (len(heading) - len(heading.lstrip()) + 4)
            lines.insert(number + 1, indented + "\\ ")


def true_signature(
    app: Sphinx, what: str, name: str, value: object, options: object, given: str | None, back: str
) -> tuple[str, str] | None:
    """Show the signature of ``__init__`` for widgets, and none for what users do not construct."""
    if what == "exception" or name.rpartition(".")[2] in _NOT_CONSTRUCTED:
        return "", ""
    if what != "class" or not isinstance(value, type):
        return None
    parameters = inspect.signature(value)
    return re.sub(r": '([^']*)'", r": \1", str(parameters).partition(" -> ")[0]), ""


def setup(app: Sphinx) -> None:
    """Write the generated pages before any page is read."""
    generate.write(Path(__file__).parent)
    app.add_search_language(hosting.BothLanguages)
    app.connect("html-page-context", hosting.add_social_picture)
    app.connect("build-finished", hosting.write_sitemap)
    app.connect("missing-reference", resolve_short_names)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", true_signature)
