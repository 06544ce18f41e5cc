"""Labels beside codes, what has none, and counts."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.frames.places import labels
from finstat_kit.protocol import wire
from finstat_kit.protocol.old_codes import old_code
from tests.support.examples import quick
from tests.support.registers import Scripted

REG = fk.sample(0)
NAMES = {
    lang: {
        field: dict(
            REG._lookup(wire.BY_FIELD[field].name).select("code", f"name_{lang}").iter_rows()
        )
        for field in wire.BY_FIELD
    }
    for lang in ("sk", "en")
}
ODD = ["1", "01", "sk010", "SK010 ", "", "529354", "SKZZ", "\u0660"]


def column(field: str) -> st.SearchStrategy[str | None]:
    return (
        st.none() | st.sampled_from(sorted(NAMES["sk"][field])) | st.sampled_from(ODD) | st.text()
    )


frames = st.lists(
    st.fixed_dictionaries({field: column(field) for field in ("kraj", "okres", "sidlo")}),
    max_size=30,
)


@settings(deadline=None)
@given(frames, st.sampled_from(["sk", "en"]), st.sampled_from([pl.String, pl.Categorical]))
def test_labels_equal_a_dictionary(
    rows: list[dict[str, str | None]], lang: Lang, dtype: type[pl.DataType]
) -> None:
    """The label is what a dictionary gives; rows keep number and order, eager and lazy."""
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("kraj", "okres", "sidlo"), pl.String))
    typed = frame.cast(dtype)

    eager = REG.resolve_labels(typed, lang=lang)
    lazy = REG.resolve_labels(typed.lazy(), lang=lang)

    assert isinstance(lazy, pl.LazyFrame)
    assert eager.columns == ["kraj", "region", "okres", "district", "sidlo", "municipality"]
    assert eager.equals(lazy.collect())
    assert eager.select("kraj", "okres", "sidlo").equals(typed)
    for field, label in (("kraj", "region"), ("okres", "district"), ("sidlo", "municipality")):
        assert eager[label].dtype == pl.String
        assert eager[label].to_list() == [NAMES[lang][field].get(code) for code in frame[field]]


def test_enums_of_the_codelist_are_labelled() -> None:
    """A column whose categories are the codelist's own is labelled all the same."""
    enum = pl.Enum(REG.regions()["code"])
    frame = pl.DataFrame({"kraj": pl.Series(["SK031", None, "SK010"], dtype=enum)})

    labelled = REG.resolve_labels(frame, lang="en")

    assert labelled["region"].to_list() == ["Region of Žilina", None, "Region of Bratislava"]


CATEGORIES: list[pl.DataType] = [
    pl.Categorical(pl.Categories("codes of a reader")),
    pl.Categorical(pl.Categories("codes", namespace="a reader", physical=pl.UInt8)),
    pl.Categorical(pl.Categories("few codes", physical=pl.UInt16)),
    pl.Categorical(pl.Categories.random()),
    pl.Categorical(),
    pl.Enum(["1", "SK031", "other", "SK010"]),
]


@pytest.mark.parametrize(
    "dtype",
    quick(CATEGORIES, 2),
    ids=["named", "8 bits", "16 bits", "of no name", "of all", "Enum"],
)
def test_categories_of_any_kind_are_labelled(dtype: pl.DataType) -> None:
    """Named categories too; lists and counts are those of texts."""
    texts = pl.DataFrame({"kraj": ["other", "SK031", None, "1", "SK010", "SK031"]}).with_columns(
        datumPoslednejUpravy=pl.lit(date(2026, 3, 2)), stav=pl.lit(None, pl.String)
    )
    frame = texts.with_columns(pl.col("kraj").cast(dtype))

    forms: tuple[Any, ...] = (frame, frame.lazy())
    for form in forms:
        labelled = REG.resolve_labels(form, lang="en").lazy().collect()
        assert labelled["region"].to_list() == [
            None, "Region of Žilina", None, None, "Region of Bratislava", "Region of Žilina",
        ]  # fmt: skip
        assert labelled.drop("region").equals(frame)
        assert REG.count_by(form, "kraj").equals(REG.count_by(texts, "kraj"))
        assert REG.unresolved_codes(form).equals(REG.unresolved_codes(texts))


# What polars reads as a pattern where a column's name is due, and what looks like one.
PATTERNS = ["*", "^x$", "^.*$", "^kraj$", "^k.*$", "^", "", "(", "a|b", "."]


@pytest.mark.parametrize(
    "dtype", [pl.String(), CATEGORIES[0], pl.Null()], ids=["text", "named", "null"]
)
def test_a_name_that_is_a_pattern_is_a_name(dtype: pl.DataType) -> None:
    """A column of any name is itself, wherever it stands; so are the others beside it."""
    codes = sorted(NAMES["sk"]["kraj"])
    columns = [*PATTERNS, "x", "kraj", "sidlo", "^sidlo$"]
    texts = pl.DataFrame(
        {
            name: [None if dtype == pl.Null() else codes[place % len(codes)], None]
            for place, name in enumerate(columns)
        }
    )
    frame = texts.cast(dtype).with_columns(datumPoslednejUpravy=pl.lit(date(2026, 3, 2)))
    mapping = dict.fromkeys(PATTERNS, "regions")

    forms: tuple[Any, ...] = (frame, frame.lazy())
    for form in forms:
        labelled = REG.resolve_labels(form, columns=mapping).lazy().collect()
        assert labelled.columns[:4] == ["*", "*_label", "^x$", "^x$_label"]
        assert labelled.select(pl.nth(range(0, 20, 2))).equals(frame.select(pl.nth(range(10))))
        for name in PATTERNS:
            expected = [NAMES["sk"]["kraj"].get(code) for code in texts[name]]
            assert labelled[f"{name}_label"].to_list() == expected
        by_default = REG.resolve_labels(form).lazy().collect()
        assert by_default["region"][0] == NAMES["sk"]["kraj"].get(texts["kraj"][0])
        assert by_default.drop("region", "municipality").equals(frame)
        assert REG.unresolved_codes(form, columns=mapping).height == 0
        found = REG.unresolved_codes(form, columns=dict.fromkeys(PATTERNS, "legal_forms"))
        assert found.select("column", "code").rows() == [
            (name, texts[name][0]) for name in PATTERNS if dtype != pl.Null()
        ]
        few = texts.select("kraj").with_columns(frame["datumPoslednejUpravy"])
        assert REG.count_by(form, "kraj").equals(REG.count_by(few, "kraj"))


def test_labelling_again_replaces_the_labels() -> None:
    """A cell that is run again replaces its labels; other columns keep their places."""
    frame = pl.DataFrame({"x": [1], "kraj": ["SK010"], "y": [2]})

    once = REG.resolve_labels(frame)
    again = REG.resolve_labels(once, lang="en")

    assert once.columns == again.columns == ["x", "kraj", "region", "y"]
    assert (once["region"][0], again["region"][0]) == ("Bratislavský kraj", "Region of Bratislava")


def test_any_code_column_is_labelled_by_its_codelist() -> None:
    """Any code field by its name, and any column of one's own by its codelist."""
    frame = pl.DataFrame({"kraj": ["SK010"], "pravnaForma": ["112"], "home": ["SK021"]})

    by_name = REG.resolve_labels(frame, columns=["kraj", "pravnaForma"])
    by_codelist = REG.resolve_labels(frame, columns={"home": "regions"})

    assert by_name.columns == ["kraj", "region", "pravnaForma", "legal_form", "home"]
    assert by_name["legal_form"][0] == "Spol. s r. o."
    assert by_codelist.row(0)[-2:] == ("SK021", "Trnavský kraj")
    assert by_codelist.columns[-1] == "home_label"


def test_null_columns_and_empty_frames_get_null_labels() -> None:
    """A column of nulls gives null labels; no rows give no rows, with all columns."""
    nulls = REG.resolve_labels(pl.DataFrame({"kraj": [None, None]}))
    empty = REG.resolve_labels(pl.DataFrame(schema={"kraj": pl.String}))

    assert nulls["region"].to_list() == [None, None]
    assert nulls.schema["region"] == empty.schema["region"] == pl.String
    assert empty.height == 0


def test_only_what_is_needed_is_fetched() -> None:
    """Labels of regions do not load the municipalities."""
    reg = fk.sample(0)

    reg.resolve_labels(pl.DataFrame({"kraj": ["SK010"]}))

    assert reg.stats.requests == 1


class Foreign:
    """Stands for a frame of another library."""


Foreign.__module__ = "pandas.core.frame"
Foreign.__name__ = "DataFrame"


@pytest.mark.parametrize(
    ("frame", "options", "named"),
    [
        (pl.DataFrame({"x": [1]}), {}, "none of the columns .*'kraj'.* columns="),
        (pl.DataFrame({"kraj": [1]}), {}, "'kraj' is Int64; codes are text"),
        (pl.DataFrame({"kraj": ["1"]}), {"lang": "de"}, "lang='de'"),
        (pl.DataFrame({"kraj": ["1"]}), {"columns": ["okres"]}, "no column 'okres'"),
        (pl.DataFrame({"kraj": ["1"]}), {"columns": ["regions"]}, "'regions' is not known"),
        (pl.DataFrame({"kraj": ["1"]}), {"columns": "kraj"}, r"give a list: \['kraj'\]"),
        (
            pl.DataFrame({"kraj": ["1"]}),
            {"columns": {"kraj": "kraje"}},
            "columns='kraje' is not known; give one of",
        ),
        (
            pl.DataFrame({"kraj": ["1"]}),
            {"columns": {"kraj": ["regions"]}},
            r"columns=\['regions'\] is not known; give one of \['regions'",
        ),
        (pl.DataFrame({"kraj": ["1"]}), {"columns": 5}, r"columns=5 is not a list; give .*'kraj'"),
        (pl.DataFrame({"kraj": ["1"]}), {"columns": [["kraj"]]}, r"columns=\['kraj'\] is not kno"),
        (Foreign(), {}, "pandas DataFrame; give a frame: of polars, pandas or Arrow, a list of"),
        ([["kraj"]], {}, "frame is a list; give a frame: of polars, pandas or Arrow, a list of"),
    ],
)
def test_frames_that_cannot_be_labelled_are_refused(
    frame: Any, options: dict[str, Any], named: str
) -> None:
    """What is wrong is told with its cure."""
    with pytest.raises(fk.UsageError, match=named):
        REG.resolve_labels(frame, **options)


def test_unresolved_codes_are_counted_with_todays_code() -> None:
    """Codes without a label, how often, and today's code of an old one."""
    frame = pl.DataFrame(
        {
            "kraj": ["SK010", "1", "1", None, "SK099"],
            "okres": ["103", "613", "613", "999", "SK0101"],
            "sidlo": ["529354", None, "582000", "000000", None],
        }
    )

    unresolved = REG.unresolved_codes(frame)

    assert unresolved.rows() == [
        ("kraj", "1", 2, "SK010"),
        ("kraj", "SK099", 1, None),
        ("okres", "613", 2, "SK032D"),
        ("okres", "103", 1, "SK0103"),
        ("okres", "999", 1, None),
        ("sidlo", "000000", 1, None),
        ("sidlo", "529354", 1, "SK0103529354"),
    ]
    assert unresolved.equals(REG.unresolved_codes(frame.lazy()))
    assert REG.unresolved_codes(frame.head(0)).schema == labels.UNRESOLVED


def test_the_crosswalk_holds_for_every_district() -> None:
    """Each of the 79 districts had three digits of its own."""
    old = [old_code(code) for code in REG.districts()["code"]]

    assert len(set(old)) == len(old)
    assert all(code and len(code) == 3 for code in old)
    assert old_code("SK032D") == "613"


def test_what_is_no_code_of_today_has_no_other() -> None:
    """Only what has the form of a code of today has an old one."""
    for text in (
        "", "6", "529354", "SK051A", "SK049A", "SK0101x", "sk0101", "SK01", "SKZZZZ", "SK010a",
        "SK010352935", "SK01035293545", "XX0103529354",
    ):  # fmt: skip
        assert old_code(text) is None
    assert old_code("SK010Z") == "135"


def test_a_guess_knows_blanks_small_letters_and_other_districts() -> None:
    """The last six digits of a municipality are its own for good."""
    few = Scripted(
        b'{"lokacie":[{"kod":"SK010"}]}',
        b'{"lokacie":[{"kod":"SK0101"}]}',
        b'{"lokacie":[{"kod":"SK0101500001"},{"kod":"SK0102500002"}]}',
    )
    frame = pl.DataFrame(
        {
            "kraj": ["sk010", " SK010 ", "SK011"],
            "okres": ["sk0101", "SK 0101", "SK0107"],
            "sidlo": ["SK0109500001", "sk0106 500002", "SK0101500009"],
        }
    )

    guesses = dict(few.unresolved_codes(frame).select("code", "likely").rows())

    assert guesses == {
        "sk010": "SK010", " SK010 ": "SK010", "SK011": None,
        "sk0101": "SK0101", "SK 0101": "SK0101", "SK0107": None,
        "SK0109500001": "SK0101500001", "sk0106 500002": "SK0102500002", "SK0101500009": None,
    }  # fmt: skip


def test_a_guess_is_a_code_of_today() -> None:
    """An old code that leads to no entry, or to two of them, leads to none."""
    few = Scripted(
        b'{"lokacie":[{"kod":"SK010"}]}',
        b'{"lokacie":[{"kod":"SK0101"}]}',
        b'{"lokacie":[{"kod":"SK0101500001"},{"kod":"SK0102500001"},{"kod":"SK0102500002"}]}',
    )
    frame = pl.DataFrame(
        {
            "kraj": ["1", "2"],
            "okres": ["101", "102"],
            "sidlo": ["500001", "500002"],
        }
    )

    guesses = few.unresolved_codes(frame).select("code", "likely").rows()

    assert guesses == [
        ("1", "SK010"), ("2", None), ("101", "SK0101"), ("102", None),
        ("500001", None), ("500002", "SK0102500002"),
    ]  # fmt: skip
