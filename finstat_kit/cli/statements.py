"""The commands of forms, filed statements and figures: `form`, `statement`, `financials`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from finstat_kit.cli import options
from finstat_kit.cli.lists import ids_given
from finstat_kit.cli.output import Output, cut_off, for_output, write_all
from finstat_kit.errors import Interrupted, NotFound, RegisterError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.arguments import Lang
    from finstat_kit.client.register import Register
    from finstat_kit.frames.financials.history import Statement
    from finstat_kit.frames.financials.items import Activity, Family
    from finstat_kit.frames.reports.filed import Filed


@click.command()
@click.argument("template", type=click.IntRange(0, 2**31 - 1), metavar="TEMPLATE")
@options.lang
@options.register
@options.output
def form(template: int, lang: Lang | None, chosen: options.Chosen, output: Output) -> None:
    """Print the rows of a form, such as 699 (businesses) or 687 (micro units).

    The column terms has the sum a caption states, as signed table.row, both from 0. English of
    forms other than 684, 690, 696, 699 and 727 is a translation; a label without one is Slovak.
    """
    reg = chosen()
    output.write(_rows_with_terms(reg.template(template), reg._language(lang)))


def _rows_with_terms(rows: pl.DataFrame, lang: Lang) -> pl.DataFrame:
    """Return the rows of a form with one label, and with terms as text."""
    import polars as pl

    term = pl.element().struct
    sign = pl.when(term["sign"] < 0).then(pl.lit("-")).otherwise(pl.lit("+"))
    written = pl.concat_str(sign, term["table"], pl.lit("."), term["row"])
    return rows.select(
        "table", "row", "number", "mark",
        pl.coalesce(f"label_{lang}", "label_sk").alias("label"),
        "path", "level", pl.col("terms").list.eval(written).list.join(" "),
    )  # fmt: skip


@click.command()
@click.argument("id_", metavar="[ID…]", nargs=-1)
@click.option("--ico", help="Instead of ids: a statement of the units with this IČO over years.")
@click.option(
    "--years",
    type=int,
    metavar="N",
    help="With --ico: the newest so many, or one, such as 2024; default: all.",
)
@click.option(
    "--table",
    type=click.Choice(["income", "balance", "assets", "liabilities"]),
    help="With --ico: which table; default: income.",
)
@click.option("--blanks", is_flag=True, help="With --ico: blank rows too.")
@options.input_format
@options.lang
@options.register
def statement(
    id_: tuple[str, ...],
    ico: str | None,
    years: int | None,
    table: Statement | None,
    blanks: bool,
    input_format: str | None,
    lang: Lang | None,
    chosen: options.Chosen,
) -> None:
    """Print statements as they were filed, or one statement of a unit over years.

    Of ids their reports as one, the columns side by side; "-" reads ids, or records and figures
    that name statements, from standard input. With --ico one table, a column per year.
    """
    if (ico is None) == (not id_):
        raise click.UsageError("give either ids of statements or --ico")
    if ico is None and (years, table, blanks) != (None, None, False):
        raise click.UsageError("--years, --table and --blanks go with --ico")
    if ico is not None:
        reg = chosen()
        units = reg.units.get(_ids_with_ico(reg, ico))
        texts = (
            _form_text(
                reg.statement_history(unit, years, table or "income", blanks=blanks, lang=lang)
            )
            for unit in units.iter_slices(1)
        )
    else:
        wanted = ids_given(id_, "statements", input_format)
        reg = chosen()
        texts = (_printed(reg, one, lang) for one in wanted)
    for number, text in enumerate(texts):
        write_all(for_output(b"\n\n\n" * (number > 0) + text.encode() + b"\n"))


def _printed(reg: Register, id_: int, lang: Lang | None) -> str:
    filed = reg.statements.get(id_).row(0, named=True)
    if filed["stav"] is not None:
        raise NotFound(f"statement {id_} is {filed['stav']} in the register", ids=[id_])
    if not filed["idUctovnychVykazov"]:
        raise NotFound(f"statement {id_} has no reports", ids=[id_])
    return _form_text(reg.as_filed(reg.reports.get(filed["idUctovnychVykazov"]), lang=lang))


def _form_text(filed: Filed) -> str:
    """Return a form as text, on a terminal as wide as that."""
    from finstat_kit.frames.reports.filed import as_text

    return as_text(filed, shutil.get_terminal_size().columns if sys.stdout.isatty() else None)


@click.command()
@click.argument("id_", metavar="[ID…]", nargs=-1)
@click.option("--ico", help="Instead of ids: all units with this IČO.")
@click.option(
    "--year",
    type=click.IntRange(1990, 2100),
    multiple=True,
    help="Year in which the period ends; may be repeated; default: all years.",
)
@click.option(
    "--items",
    help="Only these items, such as sales,net_profit; default: all.",
    metavar="NAME,…",
)
@click.option(
    "--family",
    type=click.Choice(["business", "public", "non_profit", "single_entry"]),
    help="Only the items of this family of forms, of all rows.",
)
@click.option("--consolidated", is_flag=True, help="Consolidated statements, not individual ones.")
@click.option(
    "--from-previous",
    is_flag=True,
    help="Also rows for the period before, from the previous-period column of each filing.",
)
@click.option(
    "--activity",
    type=click.Choice(["total", "main", "business"]),
    default="total",
    show_default=True,
    help="Column of costs and revenue of a public body or a non-profit.",
)
@options.filed_until
@options.input_format
@options.max_requests
@options.register
@options.output
def financials(
    id_: tuple[str, ...],
    ico: str | None,
    year: tuple[int, ...],
    items: str | None,
    family: Family | None,
    consolidated: bool,
    from_previous: bool,
    activity: Activity,
    filed_until: str | None,
    input_format: str | None,
    max_requests: int | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Print figures of units, one row per unit and year; "-" reads standard input, as `get` does.

    Without figures the column "reason" shows why. If the command ends early, the rows of the
    units finished before are written. The exit code is 1 where a unit has no readable record.
    """
    if (ico is None) == (not id_):
        raise click.UsageError("give either ids of units or --ico")
    from finstat_kit.frames.financials import items as items_of
    from finstat_kit.frames.financials.assemble import schema

    item_names = items_of.chosen(None if items is None else items.split(","), family)
    output.check(schema(item_names))
    if output.columns is not None:
        item_names = [name for name in item_names if name in output.columns] or item_names
    ids = None if ico is not None else ids_given(id_, "units", input_format)
    reg = chosen()
    ids = _ids_with_ico(reg, str(ico)) if ids is None else ids.unique(maintain_order=True)
    try:
        figures = reg.financials(
            ids,
            year or None,
            consolidated=consolidated,
            from_previous=from_previous,
            filed_until=filed_until,
            items=item_names,
            activity=activity,
            max_requests=max_requests,
        )
    except UsageError:
        raise
    except (RegisterError, Interrupted) as error:
        rows = error.partial
        if rows is not None and "unit_id" in rows.columns and rows.height:
            output.write(rows)
            done = rows["unit_id"].n_unique()
            cut_off(f"{done:,} units", ids, done)
        raise
    bare = figures.filter(figures["name"].is_null(), figures["ico"].is_null(), reason="unreadable")
    without = bare["unit_id"].unique().sort()
    output.write(figures)
    if without.len():
        listed = ", ".join(map(str, without.head(10)))
        click.echo(f"units without a readable record: {without.len():,}: {listed}", err=True)
        raise SystemExit(1)


def _ids_with_ico(reg: Register, ico: str) -> pl.Series:
    """Return the ids of the units with an IČO, at least one."""
    ids = reg.units.ids(ico=ico)["id"]
    if ids.is_empty():
        raise NotFound(f"no unit has the IČO {ico}")
    return ids
