"""Bars, and what all charts share: the numbers are those of the counts, every text can be read."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbformat
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from nbclient import NotebookClient

import finstat_kit as fk
from finstat_kit.arguments import By, Grouping, Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.values.drawn_table import drawn_rows
from finstat_kit.client.collections.fetching import Requested
from finstat_kit.client.sample import Sample
from finstat_kit.frames.counts.count_by import COUNTS
from finstat_kit.frames.places.groups import GROUPS
from finstat_kit.frames.places.labels import NAMED
from finstat_kit.frames.text import number_format
from tests.support.charts import EVERY, figures
from tests.support.examples import quick, slow
from tests.support.pictures import (
    axes,
    bars,
    check_legible,
    drawn,
    own,
    texts,
    written,
)
from tests.support.registers import Watched
from tests.support.units import SAMPLE, all_units

LANGS: list[Lang] = ["sk", "en"]
FIELDS = [by for by in NAMED if by not in ("kraj", "age")]


def counts_of(number: int, *, label: str = "Obec {}", by: By = "sidlo") -> pl.DataFrame:
    """Return counts of so many invented codes, as `count_by` gives them."""
    rows = [
        (f"X{n}", label.format(n), number - n, 1 / number, "labelled", by) for n in range(number)
    ]
    return pl.DataFrame(rows, schema=COUNTS, orient="row")


@pytest.mark.parametrize(("lang", "lazy"), [("sk", False), ("en", True)])
def test_bars_are_the_counts(lang: Lang, lazy: bool) -> None:
    """Labelled bars by count, then a bar for each kind of what has no label; nothing is lost."""
    counts = fk.count_by(all_units(), "kraj", lang=lang)
    labelled = counts.filter(pl.col("kind") == "labelled")

    found = bars(fk.plot_counts(all_units().lazy() if lazy else all_units(), lang=lang, ax=axes()))

    assert sum(found.values()) == all_units().height
    assert list(found.values())[: labelled.height] == labelled["count"].to_list()
    for name, count in labelled.select("label", "count").iter_rows():
        if name not in ("Zahraničie", "Extra-regio") and not name.startswith("Reg.of"):
            assert found[name.removeprefix("Region of ").removesuffix(" kraj")] == count
    words = drawing.WORDS[lang]
    by_kind = dict(counts.group_by("kind").agg(pl.col("count").sum()).iter_rows())
    unknown = counts.filter(pl.col("kind") == "unknown code").height
    assert list(found)[labelled.height :] == [
        f"{words['unknown codes']} ({unknown})",
        words["no code"],
        words["gone"],
    ]
    assert list(found.values())[labelled.height :] == [
        by_kind["unknown code"],
        by_kind["no code"],
        by_kind["gone"],
    ]


def test_numbers_as_each_language_writes_them() -> None:
    """Count and share stand at the bar."""
    counts = pl.DataFrame(
        [("SK010", "Bratislavský kraj", 12_345, 0.3617, "labelled", "kraj")],
        schema=COUNTS,
        orient="row",
    )

    assert "12\u00a0345  (36,2\u00a0%)" in written(fk.plot_counts(counts, ax=axes()))
    assert "12,345  (36.2%)" in written(fk.plot_counts(counts, lang="en", ax=axes()))


def test_a_share_that_is_not_known_is_not_written() -> None:
    """Of a bar, of the sum of others, and of all, whose note then has no word of it."""
    counts = fk.count_by(all_units(), "okres").with_columns(share=pl.lit(None, pl.Float64))
    some = counts.with_columns(share=pl.when(pl.col("code") == counts["code"][0]).then(0.25))

    none = fk.plot_counts(counts, by="okres", top=5, lang="en", ax=axes())
    one = fk.plot_counts(some, by="okres", top=5, lang="en", ax=axes())

    assert "%" not in written(none)
    assert none.get_xlabel().startswith("number of units\n")
    assert written(one).count("%") == written(one).count("(25.0%)") == 1
    assert "their share of all" in one.get_xlabel()


def test_what_top_cuts_off_is_a_note() -> None:
    """The first so many, and all others as they were; a note has the number of the rest."""
    counts = fk.count_by(all_units(), "okres")
    labelled = counts.filter(pl.col("kind") == "labelled")

    rows = drawn_rows(counts.rename({"count": "value"}), 5)
    ax = fk.plot_counts(counts, by="okres", top=5, ax=axes())

    assert rows["kind"].to_list() == ["labelled"] * 5 + ["unknown code", "no code", "gone"]
    rest = labelled["count"][5:].sum()
    assert rows["value"].sum() == all_units().height - rest
    assert list(bars(ax).values()) == rows["value"].to_list()
    number = labelled.height - 5
    units = number_format.whole(int(rest), "sk")
    assert ax.notes[-1] == f"Ďalšie kódy, nezobrazené: {number} (jednotiek: {units})."  # type: ignore[attr-defined]


def test_one_unknown_code_is_named() -> None:
    """A lone unknown code stands by itself, so that it can be looked up."""
    frame = pl.DataFrame({"kraj": ["SK010", "7", None]})

    assert bars(fk.plot_counts(frame, ax=axes())) == {
        "Bratislavský": 1,
        "neznámy kód 7": 1,
        "bez kódu": 1,
    }


@cache
def made_by(by: By) -> dict[str, pl.DataFrame]:
    """Return every kind of result by a field, as it is and as polars or a file hands it on."""
    counts = fk.count_by(all_units().head(400), by)
    file = io.BytesIO()
    counts.write_csv(file)
    kept = pl.col("count") > 1
    return {
        "counts": counts,
        "filtered": counts.head(5).filter(kept).sort("code"),
        "joined": pl.concat([counts.head(1), counts.slice(1)]),
        "from a file": pl.read_csv(file.getvalue(), schema=COUNTS),
        "estimate": SAMPLE.estimate(by, n=50),
    }


@pytest.mark.parametrize("kind", ["counts", *slow("filtered", "joined", "from a file", "estimate")])
def test_a_result_is_drawn_under_its_own_field(kind: str) -> None:
    """Legal forms are not regions: what was made by another field than *by* is an error."""
    frame = made_by("pravnaForma")[kind]

    fk.plot_counts(frame, by="pravnaForma", ax=axes())
    drawings: list[Callable[[], Axes]] = [
        lambda: fk.plot_counts(frame),
        lambda: fk.plot_counts(frame.lazy(), by="okres"),
        lambda: fk.plot_map(frame),
        lambda: fk.plot_map(frame, by="okres", value="share"),
    ]
    for draw in drawings:
        with pytest.raises(fk.UsageError, match="was made by 'pravnaForma'; give by='pravnaForma'"):
            draw()


def test_labels_that_repeat_carry_their_code() -> None:
    """Two places of one name can be told apart, also when only one of them is drawn."""
    frame = pl.DataFrame({"sidlo": ["SK0414543314", "SK0418524816", "SK0418524816", "582000"]})

    all_three = bars(fk.plot_counts(frame, by="sidlo", ax=axes()))
    first = bars(fk.plot_counts(frame, by="sidlo", top=1, ax=axes()))

    assert list(all_three) == ["Lúčka (SK0418524816)", "Bratislava", "Lúčka (SK0414543314)"]
    assert next(iter(first)) == "Lúčka (SK0418524816)"


@pytest.mark.parametrize(
    ("by", "cut", "lang"),
    [
        ("kraj", ["Reg.of Banská Bystrica", "Extra-regio"], "en"),
        *slow(
            ("skNace", ["Maloobchod nešpecializ.", "Čin.športových klubov"], "sk"),
            ("velkostOrganizacie", ["1 employees", "5-9 employees"], "en"),
        ),
    ],
)
def test_words_that_the_register_cuts_are_whole(by: By, cut: list[str], lang: Lang) -> None:
    """In charts; a frame keeps the register's labels."""
    labels = fk.count_by(all_units(), by, lang=lang)["label"].to_list()

    found = list(bars(fk.plot_counts(all_units(), by=by, lang=lang, ax=axes(8, 12))))

    assert set(cut) <= set(labels)
    assert not [name for name in found for label in cut if label in name]
    assert not [name for name in found if name.endswith((".", "predomi"))]


def test_places_abroad_are_last() -> None:
    """However many units are there: in bars, and in the order of medians."""
    counts = fk.count_by(all_units().filter(pl.col("kraj").is_in(["SKZZ", "SK010"])), lang="en")
    counts = counts.with_columns(count=pl.when(code="SKZZ").then(9999).otherwise("count"))
    money = {"kraj": ["SK010", "SKZZ"] * 5, "unit_id": range(10), "sales": [1.0, 9.0] * 5}

    found = list(bars(fk.plot_counts(counts, lang="en", ax=axes())))
    boxes = fk.plot_spread(
        pl.DataFrame(money), value="sales", lang="en", ax=axes(), register=SAMPLE
    )

    assert found == ["Bratislava", "Abroad"]
    assert [label.get_text() for label in boxes.get_yticklabels()] == found


def test_counts_keep_their_labels() -> None:
    """Counts are drawn as they were made, also a label of one's own and with no register chosen."""
    counts = fk.count_by(pl.DataFrame({"kraj": ["SK031", "SK010"]}), "kraj")
    mine = counts.with_columns(pl.col("label").str.replace("Bratislavský kraj", "Pressburg"))

    with fk.using(fk.sample(0)):
        fk.use(None)
        ax = fk.plot_counts(mine, lang="en", ax=axes())

    assert set(bars(ax)) == {"Žilinský", "Pressburg"}
    assert "sample" not in ax.get_title()


@pytest.mark.parametrize(
    ("field", "lang"),
    [("sidlo", "sk"), *slow(("pravnaForma", "sk"), ("skNace", "en"))],
)
def test_bars_are_legible(field: By, lang: Lang) -> None:
    """No text lies on another or over the edge, whatever is counted."""
    number = drawn_rows(fk.count_by(all_units(), field).rename({"count": "value"}), 30).height
    ax = fk.plot_counts(all_units(), by=field, lang=lang, ax=own(number))

    check_legible(ax)
    assert drawing.WORDS[lang][field] in ax.get_title()


@pytest.fixture(scope="module")
def municipal(full_size: Path) -> tuple[Sample, pl.DataFrame]:
    """Give a register with codelists of real size, and units in most of their municipalities."""
    register = fk.sample(10, codelists=full_size)
    codes = register.municipalities()["code"].to_numpy()
    # Like real ones: many units in a few municipalities, one or none in most.
    skewed = (len(codes) * np.random.default_rng(0).random(20_000) ** 3).astype(int)
    units = pl.concat([all_units()] * 5).with_columns(
        pl.when(pl.col("sidlo").is_not_null()).then(pl.Series(codes[skewed])).alias("sidlo")
    )
    assert register.count_by(units, "sidlo").height > 1_900
    return register, units


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "size"), [("sk", None), *slow(("en", (5, 3.2)))])
def test_full_size_is_legible(
    municipal: tuple[Sample, pl.DataFrame], lang: Lang, size: tuple[float, float] | None
) -> None:
    """Of 2,900 municipalities the first are shown, and a note has the number of the others."""
    register, units = municipal
    ax = axes(*size) if size else own(34)
    fk.plot_counts(units, by="sidlo", register=register, lang=lang, ax=ax)
    check_legible(ax)
    assert sum(bars(ax).values()) < units.height
    assert len(bars(ax)) <= 34
    rest = {"sk": "Ďalšie kódy, nezobrazené: ", "en": "Further codes, not shown: "}[lang]
    assert rest in written(ax)


@pytest.mark.slow
@pytest.mark.parametrize("length", [40, 500])
def test_long_labels_are_cut(length: int) -> None:
    """A label of any length leaves room for the bars."""
    frame = counts_of(30, label="Ž" * length + " {}").with_columns(kind=pl.lit("labelled"))
    with fk.using(fk.sample(0)):
        table = frame.with_columns(
            code=pl.Series(fk.districts()["code"].head(30)),
            by=pl.lit("okres"),
            label=pl.col("label") + "\n$x$",
        )
        ax = fk.plot_counts(table, by="okres", ax=own(30))

    check_legible(ax)
    assert len(bars(ax)) == 30
    drawn(ax)
    assert ax.get_position().width > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("number", "lang"), [(0, "sk"), (1, "en")])
def test_few_units_are_legible(number: int, lang: Lang) -> None:
    """None, one and ten units give pictures that can be read."""
    few = all_units().head(number)

    for ax in (
        fk.plot_counts(few, lang=lang, ax=own(3)),
        fk.plot_map(few, lang=lang, ax=axes(8, 3.9)),
        fk.plot_map(few, by="okres", lang=lang, ax=axes(10, 6.4)),
    ):
        check_legible(ax)
        noun = {"sk": "jednotka" if number == 1 else "jednotiek", "en": "unit"}[lang]
        assert f"{number} {noun}" in ax.get_title()
    if number == 0:
        assert drawing.WORDS[lang]["nothing"] in written(fk.plot_counts(few, lang=lang, ax=axes()))


def test_slovak_counts_units_right() -> None:
    """One, two to four, and more have each their word."""
    frame = pl.DataFrame({"kraj": ["SK010"] * 5})

    titles = [fk.plot_counts(frame.head(n), ax=axes()).get_title() for n in (0, 1, 2, 4, 5)]

    assert [title.split("\n")[1].split(",")[0] for title in titles] == [
        "0 jednotiek",
        "1 jednotka",
        "2 jednotky",
        "4 jednotky",
        "5 jednotiek",
    ]


def test_every_chart_is_tested() -> None:
    """What all have in common is tested of each that a user can call."""
    assert set(EVERY) == {name for name in dir(fk) if name.startswith("plot_")}


@pytest.mark.parametrize(("name", "lang"), quick(list(zip(EVERY, LANGS * 3, strict=False)), 2))
def test_every_chart_names_the_sample(name: str, lang: Lang) -> None:
    """In the language asked for, whatever register is current."""
    fk.use(fk.Register("http://127.0.0.1:9"))

    ax = EVERY[name](register=SAMPLE, lang=lang, ax=axes(9, 6))

    source = {"sk": "Zdroj: ukážkové (vymyslené) údaje", "en": "Source: sample (invented) data"}
    assert ax.get_xlabel().endswith(source[lang])
    assert "sample" not in ax.get_title()


@pytest.mark.parametrize("by", ["kraj", "age", *slow(*FIELDS)])
def test_every_field_has_its_words(by: Grouping) -> None:
    """In both languages; a heading never shows the name of a column."""
    frame = figures() if by == "size_by_law" else all_units()
    charts = [fk.plot_counts(frame, by=by, lang=lang, top=1, ax=axes()) for lang in LANGS]
    sk, en = (" ".join(ax.get_title().split()) for ax in charts)

    assert sk.startswith("Účtovné jednotky podľa ")
    assert en.startswith("Accounting units by ")
    assert by in GROUPS or by not in sk.split() + en.split()


def test_the_foot_names_the_sample() -> None:
    """Invented data say so in both languages; a register does not."""
    sk, en = (written(fk.plot_counts(all_units(), lang=lang, ax=axes())) for lang in LANGS)

    register = fk.Register("http://127.0.0.1:9")
    assert isinstance(register._source, Requested)
    register._source._codelists["regions"] = fk.regions()
    with fk.using(register):
        ax = fk.plot_counts(all_units(), lang="en", ax=axes())
    real = written(ax)

    assert "Účtovné jednotky podľa" in sk
    assert "kraja" in sk
    assert "4\u00a0000 jednotiek" in sk
    assert "Zdroj: ukážkové (vymyslené) údaje" in sk
    assert "4,000 units" in en
    assert "Source: sample (invented) data" in en
    assert "4,000 units" in real
    assert ax.get_xlabel().endswith("Source: http://127.0.0.1:9")
    assert "sample" not in real


@pytest.mark.slow
def test_a_chart_names_the_register_it_is_drawn_from() -> None:
    """Whatever register is current, or none: by ``register=``."""
    other = Watched(fk.sample(10))
    for chosen in (None, other):
        fk.use(chosen)
        ax = fk.plot_map(all_units(), ax=axes(), lang="en", register=SAMPLE)
        assert ax.get_xlabel().endswith("Source: sample (invented) data")
    counts = SAMPLE.count_by(all_units(), "kraj")
    other.regions()
    ax = fk.plot_map(counts, ax=axes())
    assert ax.get_xlabel().endswith("Zdroj: watched:, vymyslené údaje")
    fk.use(None)
    assert "Zdroj: " not in fk.plot_map(counts, ax=axes()).get_xlabel()


def test_a_served_sample_is_invented_too() -> None:
    """A register behind a URL is named by it, and as invented once its replies say so."""
    with SAMPLE.serve() as url, fk.Register(url, lang="en") as reg:
        units = reg.units.get(all_units()["id"].head(10))
        foot = fk.plot_counts(units, register=reg, ax=axes()).get_xlabel()

    assert foot.endswith(f"Source: {url}, invented data")
    assert repr(reg).startswith(f"<Register {url}, invented data, ")
    assert "invented" not in repr(fk.Register(url))


def test_foreign_text_is_no_formula() -> None:
    """A dollar sign is a dollar sign, also where two would begin a formula that is broken."""
    odd = "_$\\frac{$ & <b>"
    counts = fk.count_by(all_units().head(100), "kraj").with_columns(
        pl.when(pl.col("code") == "SK010").then(pl.lit(odd)).otherwise("label").alias("label")
    )
    table = pl.DataFrame({"code": ["SK010", "$\\x$"], "$\\frac{$": [1.0, 2.0]})

    ax = fk.plot_counts(counts, ax=axes())
    drawn(ax)
    drawn(fk.plot_map(table, value="$\\frac{$", ax=axes()))
    drawn(fk.plot_map(counts.with_columns(code=pl.lit("$\\x$")).head(1), ax=axes()))

    (label,) = [text for text in texts(ax) if "frac" in text.get_text()]
    assert label._preprocess_math(label.get_text()) == (odd, False)  # type: ignore[attr-defined]


# Wrong on purpose, which a type checker would not let pass.
plot_counts: Any = fk.plot_counts


plot_map: Any = fk.plot_map


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: plot_counts(all_units(), by="regions"), r"by='regions' is not known.*'kraj'"),
        (lambda: plot_counts(counts_of(2), by="regions"), r"by='regions' is not known"),
        (
            lambda: plot_counts(all_units(), top=0),
            "top=0 is not allowed; give a whole number, 1 to",
        ),
        (lambda: plot_counts(all_units(), top=2_900), "top=2900 is not allowed"),
        (lambda: plot_counts(all_units(), lang="de"), "lang='de' is not known; give 'sk' or 'en'"),
        (lambda: plot_counts(all_units(), ax=[1]), "ax is a list; give the Axes of a figure"),
        (
            lambda: plot_counts(counts_of(2).cast({"count": pl.String}), by="sidlo"),
            "'count' is String; give counts as fk.count_by does",
        ),
        (
            lambda: plot_counts(counts_of(2).with_columns(count=-1), by="sidlo"),
            "'count' has nulls or neg",
        ),
        (lambda: plot_counts(counts_of(2).with_columns(kind=pl.lit("x")), by="sidlo"), "'kind' "),
        (lambda: plot_map(all_units(), by="sidlo"), r"by='sidlo' is not .*\['kraj', 'okres'\]"),
        (lambda: plot_map(all_units(), value="x"), "value='x': units can only be counted here"),
        (lambda: plot_map(fk.count_by(all_units(), "okres")), "made by 'okres'; give by='okres'"),
        (
            lambda: plot_map(fk.count_by(all_units(), "okres").drop("by")),
            "code of the other level; give 'okres'",
        ),
        (lambda: plot_map(fk.regions(), value="x"), "value='x' is not a column; give a column of"),
        (lambda: plot_map(fk.regions(), value="name_sk"), "value='name_sk' is String"),
        (
            lambda: plot_map(pl.DataFrame({"code": ["SK010"] * 2, "count": [1, 2]})),
            "'SK010' appears in two rows; give each code once",
        ),
        (lambda: plot_map(pl.DataFrame({"code": [1], "count": [1]})), "Int64; codes are text"),
        (
            lambda: plot_map(pl.DataFrame({"kraj": ["SK010"], "sales": [1.0]}), value="sale"),
            "value='sale' is not a column; did you mean 'sales'",
        ),
        (
            lambda: plot_map(
                fk.summary(SAMPLE.financials(all_units().head(9), 2018), "sales", by="okres")
            ),
            "the summary was made by \\['okres'\\]; give by='okres'",
        ),
        (
            lambda: plot_map({"code": ["SK010"], "rate": ["5,1"]}, value="rate"),
            "'rate' is String; give a column of numbers, such as",
        ),
        (
            lambda: plot_map(all_units(), "okres"),
            r"plot_map\(\): too many positional arguments; it takes \[.*'by', ",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Any, named: str) -> None:
    """What is wrong is named with its value and the cure."""
    with pytest.raises(fk.UsageError, match=named):
        call()


def test_no_chosen_register_is_refused_with_the_choice() -> None:
    """Without a register there is nothing to name; the error says how to choose one."""
    fk.use(None)

    with pytest.raises(fk.UsageError, match="no register is chosen"):
        fk.plot_counts(all_units(), ax=axes())


DRAW_ALL = """
import sys, threading
import finstat_kit as fk, matplotlib as mpl
from matplotlib.figure import Figure
reg = fk.use(fk.sample(300))
units = reg.units.get(reg.units.ids())
before = mpl.rcParams.copy()  # a look at its items would import pyplot
def draw():
    for plot in (fk.plot_counts, fk.plot_map):
        ax = Figure(layout="constrained").subplots()
        assert plot(units, ax=ax) is ax
        ax.figure.canvas.print_figure("/dev/null", format="png")
thread = threading.Thread(target=draw)
thread.start()
thread.join()
print("matplotlib.pyplot" in sys.modules, mpl.rcParams.copy() == before)
"""


@pytest.mark.slow
def test_given_axes_need_no_pyplot() -> None:
    """Widgets draw in another thread, where pyplot and its global figures must not be touched."""
    seen = subprocess.run([sys.executable, "-c", DRAW_ALL], capture_output=True, text=True)

    assert seen.stdout == "False True\n", seen.stderr


@pytest.mark.slow
def test_own_axes_are_pyplots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without axes a new figure is made, each time another, and no style is changed."""
    with mpl.rc_context({"backend": "agg"}):
        from matplotlib import pyplot as plt

        plt.switch_backend("agg")
        before = {name: value for name, value in mpl.rcParams.items() if name != "backend"}
        made = [draw() for draw in (*EVERY.values(), EVERY["plot_counts"])]
        numbers = plt.get_fignums()
        after = {name: value for name, value in mpl.rcParams.items() if name != "backend"}
        for ax in made:
            check_legible(ax)
            plt.close(ax.figure)  # type: ignore[arg-type]

    assert len({id(ax.figure) for ax in made}) == len(EVERY) + 1
    assert len(numbers) >= len(made)
    assert after == before


def test_what_was_drawn_before_stays() -> None:
    """Given axes keep what is on them; the legend speaks of the chart alone."""
    ax = axes(9, 4.8)
    ax.add_patch(Rectangle((0, 0), 1, 1, label="mine"))

    fk.plot_map(all_units(), ax=ax)

    legend = ax.get_legend()
    assert legend is not None
    assert "mine" not in [text.get_text() for text in legend.get_texts()]


@pytest.mark.slow
def test_a_cell_shows_one_picture() -> None:
    """A cell that ends in a chart shows it once, in a real kernel."""
    source = (
        "import finstat_kit as fk\n"
        "reg = fk.use(fk.sample(300))\n"
        "units = reg.units.get(reg.units.ids())\n"
        "money = reg.financials(units.head(60), 2016)\n"
    )
    frames = {"plot_spread": "money, value='equity'", "plot_history": "money[:1], value='equity'"}
    calls = [f"fk.{name}({frames.get(name, 'units')})" for name in EVERY]
    cells = [nbformat.v4.new_code_cell(text) for text in (source, *calls)]
    notebook = nbformat.v4.new_notebook(cells=cells)

    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()

    pictures = [
        sum("image/png" in output.get("data", {}) for output in cell["outputs"]) for cell in cells
    ]
    assert pictures == [0] + [1] * len(EVERY)


@pytest.mark.slow
def test_every_chart_takes_a_title_and_a_note() -> None:
    """The title replaces the heading alone, the note is below all others, also without a chart."""
    money = SAMPLE.financials(all_units().head(60), 2016)
    own: dict[str, Any] = {"title": "Vlastný nadpis $", "note": "Vlastný výpočet."}
    with fk.using(SAMPLE):
        charts = [
            draw(frame, **own, ax=axes(9, 6))
            for units, values in ((all_units(), money), (all_units().head(0), money.head(0)))
            for draw, frame in (
                (fk.plot_counts, units),
                (fk.plot_map, units),
                (partial(fk.plot_spread, value="equity"), values),
                (partial(fk.plot_history, value="equity"), values.head(1)),
            )
        ]

    for ax in charts:
        check_legible(ax)
        assert ax.get_title().split("\n")[0] == "Vlastný nadpis \\$"
        last, source = ax.get_xlabel().split("\n")[-2:]
        assert last == "Vlastný výpočet."
        assert "ukážkové (vymyslené) údaje" in source
    for name in ("title", "note"):
        with pytest.raises(fk.UsageError, match=f"{name}=5 is not a text"):
            fk.plot_counts(all_units(), **{name: 5})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "plot",
    [fk.plot_counts, fk.plot_map, fk.plot_spread, fk.plot_history],
)
def test_an_unknown_argument_is_named_with_the_known_ones(plot: Any) -> None:
    """As everywhere in the package."""
    with pytest.raises(fk.UsageError, match=r"registers'; it takes .*'register'"):
        plot(pl.DataFrame({"kraj": ["SK010"]}), value="x", registers="x")
