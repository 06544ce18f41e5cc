"""Break the rules one by one and see their tests fail: ``python -m tests.mutate [word …]``.

Every row of `MUTATIONS` breaks one promise of docs/how-it-is-built.md inside one function, and
names the tests that must fail then. Files and tests are found by their names, so that a move breaks
no row; a row whose function, text or test is gone is an error that names it. The work happens on a
copy of the tree. Words choose the rows that contain them. The exit code is 1 where a test passed
under a mutation.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_OPTIONS = ("-q", "--tb=no", "-p", "no:cacheprovider", "-m", "", "--hypothesis-profile=unshrunk")
_PATIENCE = 180.0  # seconds; a broken walk may not end


class Mutation(NamedTuple):
    """A promise and how it is broken.

    Attributes:
        promise: Does not hold any more.
        place: File and function or method: ``paging.py:check``, ``http.py:Sockets.send``.
        before: Text that is in it once.
        after: What replaces this text.
        tests: Names of the tests that must fail, separated by blanks.
    """

    promise: str
    place: str
    before: str
    after: str
    tests: str

    def __str__(self) -> str:
        return f"{self.promise} ({self.place}: {self.before!r} -> {self.after!r})"


MUTATIONS = [
    Mutation(
        "characters that nobody sees do not count in a number",
        "company_numbers.py:visible",
        'unicodedata.category(s) != "Cf"',
        "True",
        "test_a_number_is_read_as_people_and_spreadsheets_write_it",
    ),
    Mutation(
        "numbers that are not read are named",
        "match_units.py:match_units",
        "matcher.unread",
        "[]",
        "test_a_number_that_is_not_read_is_named",
    ),
    Mutation(
        "the first choice of names leaves out none that is alike",
        "near_names.py:NearNames._sharing_most",
        "_LEAST_SHARED * number",
        "0.9 * number",
        "test_the_names_that_are_compared_have_all_that_are_alike",
    ),
    Mutation(
        "a code that the register's list lacks is in no section",
        "groups.py:_activity",
        "(own == revision) & ",
        "",
        "test_a_code_that_the_list_does_not_have_is_unknown",
    ),
    Mutation(
        "a list with 95.31 and without division 45 is of NACE Rev. 2.1",
        "nace.py:of_list",
        'pl.lit("2.1" if has_new else "2")',
        'pl.lit("2")',
        "test_a_code_is_grouped_by_the_list_of_its_register",
    ),
    # A stream is complete or an error.
    Mutation(
        "every id of a page is above the cursor",
        "requests.py:check",
        "0, query.after_id",
        "0, query.after_id - 1",
        "test_check_is_exactly_ascending_above_the_cursor",
    ),
    Mutation(
        "the ids of a page ascend",
        "requests.py:check",
        "line[1:] <= line[:-1]",
        "line[1:] < line[:-1]",
        "test_a_page_that_does_not_move_forward_is_refused",
    ),
    Mutation(
        "every page is checked",
        "requests.py:page",
        "check(query, page, before)",
        "pass",
        "test_a_cycle_of_pages_ends_at_once test_a_page_that_breaks_the_rules_is_not_given_out",
    ),
    Mutation(
        "a short page is not the end",
        "requests.py:next_query",
        "if page.more and len(page.ids):",
        "if page.more and len(page.ids) >= query.page_size:",
        "test_a_walk_ends_by_the_rule_alone",
    ),
    Mutation(
        "a false end leaves no hole in a split walk",
        "split_walk.py:check",
        "if last > end:",
        "if False:",
        "test_a_false_end_never_leaves_a_hole",
    ),
    Mutation(
        "an end that is reported at a cut is requested once more",
        "split_walk.py:Range.step",
        " and not (is_cut and len(page.ids))",
        "",
        "test_an_end_at_a_cut_is_requested_once_more_behind_its_ids",
    ),
    Mutation(
        "a cut that comes late costs no request twice",
        "split_walk.py:Range.cut",
        "place > self.cursor and not self.ended",
        "True",
        "test_a_cut_is_made_ahead_alone",
    ),
    Mutation(
        "the cursor of an error is the last id before a gap",
        "split_walk.py:joined",
        "if piece.cursor < piece.limit:",
        "if False:",
        "test_what_is_behind_a_gap_is_not_joined",
    ),
    Mutation(
        "an error carries the rows so far",
        "errors.py:attaching",
        "error.partial, error.cursor = partial(), cursor()",
        "error.cursor = cursor()",
        "test_an_error_loses_nothing test_an_error_keeps_the_finished_units",
    ),
    Mutation(
        "an error carries the cursor to resume from",
        "errors.py:attaching",
        "error.partial, error.cursor = partial(), cursor()",
        "error.partial = partial()",
        "test_after_an_error_the_same_page_is_asked_again",
    ),
    Mutation(
        "an interruption keeps the rows and the cursor",
        "errors.py:attaching",
        "cursor=cursor(), partial=partial()",
        "",
        "test_an_interrupted_get_keeps_the_rows_so_far test_an_interruption_tells_how_to_go_on",
    ),
    # The embedded register is the same service.
    Mutation(
        "the flag is false exactly at the end",
        "line.py:Line.page",
        "start + size < len(self.ids)",
        "start + size <= len(self.ids)",
        "test_the_flag_is_false_exactly_at_the_end",
    ),
    Mutation(
        "what changed on the day itself is listed",
        "line.py:Line._mask",
        "self.changed[rows] >= since",
        "self.changed[rows] > since",
        "test_a_list_ascends_after_its_cursor",
    ),
    Mutation(
        "a strict register refuses what the specification leaves open",
        "routes.py:_selection",
        "if strict and size > wire.MAX_PAGE:",
        "if False:",
        "test_a_list_and_its_count_answer_alike",
    ),
    Mutation(
        "a lenient register needs no day of change",
        "routes.py:_values",
        'if strict else ("id",)',
        "",
        "test_the_flag_is_false_exactly_at_the_end",
    ),
    Mutation(
        "values of parameters have the form of the specification",
        "routes.py:_values",
        "re.fullmatch(pattern, value)",
        "re.match(pattern, value)",
        "test_a_list_and_its_count_answer_alike",
    ),
    Mutation(
        "a deleted unit is not found by its former values",
        "routes.py:_unit_conditions",
        'conditions.append((store.columns["state"], 0))',
        "pass",
        "test_lists_and_counts_are_those_of_the_model",
    ),
    Mutation(
        "an id that is used again is another unit",
        "changes.py:without",
        " if id_ not in removed",
        "",
        "test_an_id_that_is_used_again_is_a_new_unit",
    ),
    # Bytes are validated before a frame is built.
    Mutation(
        "a reply that breaks the format is named by its path",
        "records.py:shaped",
        "broken(where + path,",
        "broken(where,",
        "test_a_broken_page_names_the_place",
    ),
    Mutation(
        "a codelist has one entry per code",
        "codelists.py:_codelist",
        "if clashing.height:",
        "if False:",
        "test_an_ambiguous_codelist_is_an_error",
    ),
    Mutation(
        "HTML under status 200 is an outage",
        "untrusted.py:is_markup",
        '[:1] == b"<"',
        '[:1] == b"?"',
        "test_what_is_no_reply_is_reported_in_our_words",
    ),
    Mutation(
        "half a gzip body is refused",
        "http.py:unpacked",
        "if not unpacker.eof or unpacker.unused_data:",
        "if False:",
        "test_lasting_faults_end_in_the_right_error",
    ),
    Mutation(
        "a body larger than the limit is refused",
        "http.py:_body",
        "raise _too_large(cap)",
        "break",
        "test_an_endless_body_is_stopped_at_the_cap",
    ),
    Mutation(
        "an attempt ends at its deadline",
        "exchange.py:Exchange._once",
        "sent_at + self._deadline",
        "sent_at + 20 * self._deadline",
        "test_an_attempt_ends_at_its_deadline",
    ),
    Mutation(
        "a reply that was sent twice answers one request",
        "http.py:_Connection.exchange",
        "response.status != 200 or ",
        "",
        "test_a_404_sent_twice_answers_one_request",
    ),
    Mutation(
        "a connection with bytes behind a body is not used again",
        "http.py:_Connection._ends_with",
        "received.find(_LAST_CHUNK, head_end) == len(received) - len(_LAST_CHUNK)",
        "received.endswith(_LAST_CHUNK)",
        "test_no_answer_is_taken_for_another",
    ),
    Mutation(
        "a register is used only by the process that opened it",
        "exchange.py:Exchange.get",
        "refuse_child(self._process)",
        "pass",
        "test_the_refusal_names_the_cure",
    ),
    Mutation(
        "a record is the one requested",
        "records.py:Kind.read",
        "record.id != id_",
        "False",
        "test_a_broken_record_is_named_with_id_and_field",
    ),
    # Labels keep rows.
    Mutation(
        "labelling again replaces the labels",
        "labels.py:resolve_labels",
        "if existing not in label_columns:",
        "if True:",
        "test_labelling_again_replaces_the_labels",
    ),
    Mutation(
        "a code that is in no codelist has no label",
        "labels.py:label_of",
        "replace_strict(listed, names, default=None, return_dtype=pl.String)",
        "replace(listed, names)",
        "test_labels_equal_a_dictionary",
    ),
    Mutation(
        "a likely code is one of today",
        "labels.py:likely_codes",
        "if len(found) == 1 else",
        "if found else",
        "test_a_guess_is_a_code_of_today",
    ),
    Mutation(
        "rows without a code are counted apart",
        "labels.py:kind_of",
        "pl.when(code.is_null())",
        "pl.when(pl.lit(value=False))",
        "test_counts_are_ordered_by_kind_and_number",
    ),
    Mutation(
        "removed units are counted apart",
        "count_by.py:count_by",
        'pl.when(~pl.col("gone"))',
        "pl.when(pl.lit(value=True))",
        "test_counts_are_ordered_by_kind_and_number",
    ),
    Mutation(
        "a name that two places share is no match",
        "match_names.py:_PlaceIndex.matched",
        "len(there) == 1",
        "len(there) >= 1",
        "test_ambiguous_names_are_listed",
    ),
    Mutation(
        "records are in the order requested, repeated ids included",
        "fetching.py:get_records",
        "if unique.len() == ids.len():",
        "if True:",
        "test_get_keeps_the_order_asked",
    ),
    # A form that does not fit gives no number.
    Mutation(
        "a table of another length gives no number of the report",
        "cells.py:CellReader._fitting",
        "~unfit.any(axis=1)",
        "~unfit.all(axis=1)",
        "test_one_cell_more_or_less",
    ),
    Mutation(
        "a text that is no number has no value",
        "cells.py:values_of",
        "~odd.str.contains(_NUMBER)",
        'odd == ""',
        "test_numbers",
    ),
    Mutation(
        "a report has the first reason that applies",
        "cells.py:Refusals.add",
        "applies & ~self.refused",
        "applies",
        "test_reasons",
    ),
    Mutation(
        "an item whose row has another caption has no number",
        "items.py:parts_of",
        "not rows_match(live, form.id, table, own)",
        "False",
        "test_another_caption_gives_no_number",
    ),
    Mutation(
        "an item of which a part is no number has no number",
        "sums.py:Added.amounts",
        "self.values, np.nan",
        "np.nan_to_num(self.values), np.nan",
        "test_a_number_that_cannot_be_read_has_the_reason",
    ),
    Mutation(
        "a column is above what it covers",
        "forms.py:read_columns",
        "start <= number < end",
        "start == number",
        "test_a_column_is_above_what_it_covers",
    ),
    Mutation(
        "a caption that names one row is no sum",
        "forms.py:sum_references",
        "if len(signed_rows) < 2 or",
        "if",
        "test_what_captions_add_up",
    ),
    Mutation(
        "a sum refers to the nearest table with that number",
        "forms.py:_form",
        "*numbers[index::-1], *numbers[index + 1 :]",
        "*numbers",
        "test_sums_of_699_point_at_rows",
    ),
    Mutation(
        "a difference of a cent fails",
        "sums.py:compared_sums",
        "_HALF_A_CENT +",
        "0.05 +",
        "test_a_difference_of_a_cent_fails",
    ),
    Mutation(
        "a sum with a part that is no number is not checked",
        "sums.py:compared_sums",
        " & ~np.isnan(off)",
        "",
        "test_cents_and_what_is_no_number",
    ),
    # Which filing counts, and what is computed from it.
    Mutation(
        "of several filings of a period the one filed last counts",
        "filings.py:by_age",
        "descending=True, nulls_last=True",
        "descending=False, nulls_last=True",
        "test_the_latest_filing_of_a_period_counts",
    ),
    Mutation(
        "of two equally long periods of a year the later is taken",
        "choice.py:in_preference",
        "descending=[False, False, True, True, True]",
        "descending=[False, False, True, False, True]",
        "test_the_later_of_two_equally_long_periods_is_taken",
    ),
    Mutation(
        "consolidated and individual statements never mix",
        "filings.py:_described",
        " == consolidated)",
        " != consolidated)",
        "test_consolidated_and_individual_never_mix",
    ),
    Mutation(
        "a statement may be entered 90 days after it was filed",
        "filing_order.py:_way_down",
        "date(year, 1, 1) - _ENTERED_WITHIN",
        "date(year, 1, 1)",
        "test_a_filing_is_entered_within_ninety_days",
    ),
    Mutation(
        "where ids contradict the days of filing every statement is fetched",
        "filing_order.py:_way_down",
        "return number, True",
        "continue",
        "test_where_ids_contradict_days_of_filing_all_is_fetched",
    ),
    Mutation(
        "an old filing that was entered late hides none",
        "filing_order.py:_way_down",
        " and (day > enough - _CONFIRMED_BEFORE or earliest < enough)",
        "",
        "test_an_old_filing_that_was_entered_late_hides_none",
    ),
    Mutation(
        "reports that a filing lists together are compared",
        "choice.py:Choice._beside",
        'beside["report_id"]',
        'new["report_id"]',
        "test_reports_that_contradict_each_other_are_compared_whenever_they_are_fetched",
    ),
    Mutation(
        "ids of another collection are refused",
        "given_frames.py:own_ids",
        "and foreign is None",
        "",
        "test_wrong_arguments_are_named_before_any_request",
    ),
    Mutation(
        "cells are those of the newest version of their report",
        "readings.py:_amounts",
        "for name in batch.columns:",
        'for name in ("report_id",):',
        "test_a_changed_report_is_read_by_its_newest_version",
    ),
    Mutation(
        "a cell that is no number is a reason where the items that are used are numbers",
        "readings.py:FigureReader._of_form",
        '.join(with_text, on="report_id", how="anti")',
        "",
        "test_a_cell_that_is_no_number",
    ),
    Mutation(
        "reports without the items that are used are read whole for their reason",
        "readings.py:FigureReader._of_form",
        "[settled, *(of_rest",
        "[now, *(of_rest.clear()",
        "test_a_cell_that_is_no_number",
    ),
    Mutation(
        "a report without a filled cell in a column of the periods has no item",
        "readings.py:FigureReader._of_form",
        ".ne_missing(0)",
        ".is_null()",
        "test_a_cell_that_is_no_number",
    ),
    Mutation(
        "what was placed by another template is written again",
        "fetch.py:Records._answers",
        ".with_columns(layout=layout)",
        "",
        "test_cells_get_their_places_once_the_template_is_known",
    ),
    Mutation(
        "what shows no day of filing ends no walk",
        "filings.py:known_of",
        "_of_the_statement().is_null() & is_plausible(filed) & is_after",
        "is_plausible(filed)",
        "test_what_shows_no_day_of_filing_ends_no_walk",
    ),
    Mutation(
        "a ratio of a divisor that is not above zero is null",
        "ratios.py:of",
        "pl.when(under > 0).then(over / under)",
        "over / under",
        "test_ratios_are_the_formulas",
    ),
    Mutation(
        "a statement in another currency has no ratios",
        "ratios.py:_where_defined",
        'in_euro & (pl.col("family") == "business")',
        'pl.col("family") == "business"',
        "test_another_currency_has_none",
    ),
    Mutation(
        "a form in another currency is marked",
        "currency.py:of_reports",
        'named() if "mena" in reports else pl.lit(None, pl.String)',
        "pl.lit(None, pl.String)",
        "test_what_is_no_euro_is_marked_in_the_heading test_what_is_no_euro_is_marked",
    ),
    Mutation(
        "a value beside a reason is none",
        "values.py:_of_figures",
        "pl.when(has)",
        "pl.when(pl.lit(value=True))",
        "test_a_value_beside_a_reason_is_none test_a_value_beside_a_reason_is_not_drawn",
    ),
    Mutation(
        "a unit without figures has no size",
        "groups.py:_size",
        "has_size = has_figures(columns)",
        "has_size = pl.lit(value=True)",
        "test_a_unit_without_figures_has_no_size",
    ),
    # Which unit, whose register.
    Mutation(
        "a number is sought as an IČO without its zeros, too",
        "find.py:numbers_meant",
        'meanings["ico"] = ico',
        "pass",
        "test_a_number_is_sought_as_everything_that_it_may_be",
    ),
    Mutation(
        "a name of several units is an error where one is wanted",
        "find.py:unit_of",
        "sum(numbers.values())",
        "1",
        "test_several_units_of_a_name_are_an_error_that_lists_them",
    ),
    Mutation(
        "a text is never an id",
        "given_units.py:ico_of",
        "len(digits) in ICO",
        "digits",
        "test_what_is_neither_is_refused_with_what_it_may_mean",
    ),
    Mutation(
        "eight digits in a shell are an IČO",
        "given_units.py:unit_in_text",
        "len(digits) < min(ICO)",
        "len(digits) <= min(ICO)",
        "test_eight_digits_are_an_ico_and_fewer_an_id",
    ),
    Mutation(
        "the column unit_id names units before id does",
        "given_units.py:_of_frame",
        "for x in COLUMNS if",
        "for x in COLUMNS[1:] if",
        "test_several_units_are_named_by_either",
    ),
    Mutation(
        "numbers in a column ico are no ids",
        "given_units.py:_of_column",
        ' or column.name == "ico"',
        "",
        "test_what_is_neither_is_refused_with_what_it_may_mean",
    ),
    Mutation(
        "a number that lacks its zeros is no id in a shell",
        "given_units.py:_is_id",
        "str(int(digits)) == digits and",
        "",
        "test_eight_digits_are_an_ico_and_fewer_an_id",
    ),
    Mutation(
        "an IČO is a request of its own",
        "looked_up.py:lookups",
        'given["ico"].drop_nulls().n_unique()',
        "0",
        "test_an_ico_is_one_request_and_its_record_another",
    ),
    Mutation(
        "an IČO that no unit has is a row of figures",
        "methods/financials.py:_with_nobody",
        'pl.concat([rows, of_nobody], how="diagonal")',
        "rows",
        "test_an_ico_of_nobody_is_a_row_of_figures_and_elsewhere_an_error",
    ),
    Mutation(
        "a row of nobody is no unit",
        "values.py:one_row_per_year",
        'table = table.drop_nulls("unit_id")',
        "pass",
        "test_a_row_of_nobody_is_no_unit",
    ),
    Mutation(
        "a part of the register does not know whose an IČO is",
        "looked_up.py:fault_of_nobody",
        "{source.why_missing('units', found['id'])}",
        "",
        "test_a_part_of_the_register_does_not_know_whose_an_ico_is",
    ),
    Mutation(
        "a year that has not come warns",
        "methods/financials.py:warn_of_years",
        "named[-1] > today.year",
        "named[0] > today.year",
        "test_a_year_that_has_not_come_warns",
    ),
    Mutation(
        "a class says which arguments it has",
        "calls.py:Checked.__init_subclass__",
        'name == "__init__" or ',
        "",
        "test_every_public_function_and_class_says_which_arguments_it_has",
    ),
    Mutation(
        "a scan over requests is refused",
        "fetching.py:Requested.scan",
        "raise UsageError(",
        "return scan_by_ids(self, name, changed_since, get, 'keep') or UsageError(",
        "test_a_scan_over_requests_is_refused_with_the_cure",
    ),
    Mutation(
        "filters by id come before the records of a scan",
        "fetching.py:scan_by_ids",
        "predicate_pushdown=True",
        "predicate_pushdown=False",
        "test_filters_by_id_and_head_come_before_the_records",
    ),
    Mutation(
        "a block of using holds for its own thread and tasks alone",
        "current.py:using",
        "_blocks.set((*_blocks.get(), block))",
        "_global.register = block_register",
        "test_a_block_holds_for_its_own_thread test_a_block_holds_for_its_asyncio_tasks",
    ),
    Mutation(
        "a block that has ended holds for nothing",
        "current.py:_current",
        " if not block.is_over",
        "",
        "test_a_task_that_outlives_its_block_uses_what_is_current",
    ),
    Mutation(
        "the viewer never shows years of the unit chosen before",
        "statement_viewer.py:StatementViewer._years_arrived",
        "or outcome.question.filings is not self._filings",
        "",
        "test_years_of_the_unit_chosen_before_are_never_shown",
    ),
    Mutation(
        "the years of a unit are forgotten with it",
        "statement_viewer.py:StatementViewer._on_value",
        "self._filings = self._years = None",
        "self._filings = None",
        "test_years_of_the_unit_chosen_before_are_never_shown",
    ),
    Mutation(
        "the code of the viewer gives the rows on the screen",
        "statement_viewer.py:StatementViewer.code",
        '", blanks=True" if self.blanks.value else ""',
        '", blanks=True"',
        "test_code_gives_the_rows_on_the_screen",
    ),
    # Polite by default.
    Mutation(
        "a real host gets five requests per second",
        "register.py:Register.__init__",
        "None if near else LIVE_RATE",
        "None",
        "test_a_real_host_gets_four_connections_and_five_requests_per_second",
    ),
    Mutation(
        "the rate holds over all threads",
        "exchange.py:Exchange._wait_for_turn",
        "turn + 1 / self._rate",
        "turn",
        "test_the_rate_holds_over_all_threads",
    ),
    Mutation(
        "a pause that the register asks for is kept",
        "exchange.py:Exchange.get",
        "self._backoff(attempt) if passing.retry_after is None else passing.retry_after",
        "self._backoff(attempt)",
        "test_retry_after_is_obeyed",
    ),
    Mutation(
        "a pause holds for all connections",
        "exchange.py:Exchange._wait_for_turn",
        "max(now, self._next_slot, self._pause_until)",
        "max(now, self._next_slot)",
        "test_one_429_makes_every_connection_wait",
    ),
    Mutation(
        "what cannot succeed is not retried",
        "exchange.py:value_of",
        "if status in _RETRIED:",
        "if status >= 400:",
        "test_faults_that_stay_are_not_tried_again",
    ),
    Mutation(
        "twenty failures in a row end all retries",
        "exchange.py:Exchange.get",
        "self._failures >= _FAILURES_IN_A_ROW",
        "False",
        "test_twenty_failures_in_a_row_stop_all_retries",
    ),
    Mutation(
        "a request names the client",
        "http.py:_headers_sent",
        "agent.encode()",
        'b"Mozilla/5.0"',
        "test_a_request_names_the_client_and_sends_no_cookie",
    ),
    # No work of days by accident.
    Mutation(
        "more than 10,000 record requests are refused",
        "fetching.py:refuse_long_work",
        "if session.offline or requests <= most:",
        "if True:",
        "test_a_real_host_is_sent_ten_thousand_requests_unasked",
    ),
    Mutation(
        "figures of too many units are refused before the first request",
        "financials.py:_records_of",
        "refuse_long_work(source, expected, allowance.max_requests, most)",
        "pass",
        "test_long_work_is_refused_first",
    ),
    # A chart shows all of its numbers, and what they are.
    Mutation(
        "what a chart leaves out is counted in a note",
        "drawn_table.py:left_out",
        "int(whole - part)",
        "int(whole)",
        "test_what_top_cuts_off_is_a_note",
    ),
    Mutation(
        "units without a known code have no line and no box",
        "drawn_table.py:DrawnTable.known",
        "rows=self.rows.filter(is_known)",
        "rows=self.rows",
        "test_units_without_a_known_code_are_a_note",
    ),
    Mutation(
        "ratios are not added up",
        "figures.py:check_statistic",
        '("sum", "share_top5")',
        '("sum",)',
        "test_ratios_are_not_added_up",
    ),
    Mutation(
        "a table on paper is as many blocks as it needs",
        "filed.py:_blocks",
        "taken + width > room",
        "False",
        "test_columns_of_unequal_breadth_have_room",
    ),
    Mutation(
        "a map draws the statistic that is asked for",
        "drawn_table.py:of_places",
        'statistic or "median"',
        '"median"',
        "test_a_statistic_is_the_same_of_figures_as_of_their_summary",
    ),
    Mutation(
        "a chart names invented data",
        "texts.py:Captions.write_notes",
        'parts.append(drawing.WORDS[self.lang]["source"].format(source=source))',
        "pass",
        "test_the_foot_names_the_sample",
    ),
    Mutation(
        "the order of a draw is fixed",
        "estimation.py:drawn",
        "np.argsort(key)",
        "np.argsort(-key)",
        "test_the_order_is_fixed_for_ever",
    ),
    # Cached replies are those of the register, as it sent them.
    Mutation(
        "an altered cached reply is an error",
        "cache_file.py:CacheFile._unpacked",
        'if head != f"{self.about.register} {key}".encode():',
        "if False:",
        "test_a_reply_of_another_register_is_refused_wherever_it_lies",
    ),
    Mutation(
        "a cache file belongs to one register",
        "cache_file.py:About.is_of",
        "return self.register == other.register and len(known) < 2",
        "return True",
        "test_a_file_belongs_to_one_register",
    ),
    Mutation(
        "a record that changed since it was kept is requested",
        "fetching.py:_unchanged",
        "_ids_not_in_changes(session, kind.listed, check_days)",
        "set(check_days)",
        "test_what_changed_between_two_runs_is_fetched_again",
    ),
    Mutation(
        "faults are never kept",
        "exchange.py:Exchange._once",
        "if isinstance(error, NotFound):",
        "if True:",
        "test_faults_are_never_kept",
    ),
    # Texts of others are shown as texts.
    Mutation(
        "a message cannot steer a terminal",
        "untrusted.py:printable",
        "if text.isprintable():",
        "if True:",
        "test_errors_cannot_steer_a_terminal",
    ),
    Mutation(
        "a label is no markup in a picker",
        "base.py:table",
        "{escape(cell)}",
        "{cell}",
        "test_hostile_labels_are_escaped",
    ),
    Mutation(
        "a cell of a spreadsheet is no formula",
        "xlsx.py:sheets",
        '"strings_to_formulas": False',
        '"strings_to_formulas": True',
        "test_cells_hold_the_values",
    ),
    Mutation(
        "the latest year is the last one with figures, not the newest",
        "latest.py:Latest.add",
        'figures.filter(_CURRENT, "has_figures")',
        "figures",
        "test_the_last_year_with_figures_counts_whatever_the_reason_of_later_ones",
    ),
    Mutation(
        "the way to the latest year ends by the rule of that year",
        "figures.py:_latest",
        "in latest.newest(filed).iter_rows():",
        "in ():",
        "test_the_way_down_ends_where_the_rule_of_the_year_ends",
    ),
    Mutation(
        "a filter in a mirror puts no other year in the place of the latest",
        "figures.py:Figures.latest",
        "conditions=(),",
        "",
        "test_the_latest_year_is_that_of_all_years",
    ),
    # The right period, the right unit.
    Mutation(
        "a fall to 0 is a change",
        "growth.py:_changes",
        "value * before < 0",
        "value * before <= 0",
        "test_a_fall_to_nothing_is_a_change",
    ),
    Mutation(
        "the former filing ends the day before",
        "growth.py:growth",
        'on = ["unit_id", BEFORE]',
        'on = ["unit_id"]',
        "test_the_former_filing_ends_the_day_before",
    ),
    Mutation(
        "a period of unknown length is not equal",
        "growth.py:_changes",
        '(pl.col(MONTHS) != pl.col(f"{MONTHS} former")).fill_null(value=True)',
        '(pl.col(MONTHS) != pl.col(f"{MONTHS} former")).fill_null(value=False)',
        "test_a_period_of_unknown_length_is_not_equal",
    ),
    Mutation(
        "a year is in thousands by both years beside it",
        "scale.py:_is_doubtful",
        "(before / amount).is_between(*_FACTOR) & (after",
        "(before / amount).is_between(*_FACTOR) | (after",
        "test_a_year_a_thousandth_of_both_beside_it_is_doubtful",
    ),
    Mutation(
        "only adjacent periods show a year in thousands",
        "scale.py:marked",
        "pl.when(is_adjacent).then(_is_doubtful(name))",
        "_is_doubtful(name)",
        "test_only_adjacent_periods_are_compared",
    ),
    Mutation(
        "a pair with a doubtful year is not one without a value",
        "summary.py:_statistics",
        " - pl.col(_LEFT_OUT).sum()",
        "",
        "test_pairs_with_a_doubtful_year_are_counted_apart",
    ),
    Mutation(
        "a previous column is no filing",
        "values.py:filed",
        'return table.filter(pl.col("source_column").cast(pl.String).ne_missing("previous"))',
        "return table",
        "test_a_previous_column_is_no_filing",
    ),
    Mutation(
        "what is no number is none",
        "assemble.py:numbers",
        "x.is_finite()",
        "x.is_not_null()",
        "test_amounts_of_any_width_are_computed_as_floats",
    ),
    Mutation(
        "name and codes of a panel are the latest",
        "findings/panel.py:panel",
        'table.sort("year").group_by("unit_id")',
        'table.group_by("unit_id", maintain_order=True)',
        "test_name_and_codes_are_the_latest",
    ),
    Mutation(
        "a filing none of whose figures can be read is not filed",
        "reasons.py:has_figures",
        "return is_complete | pl.any_horizontal(pl.col(values).is_not_null())",
        'return is_complete | pl.col("reason").is_in(_PARTLY)',
        "test_a_filing_none_of_whose_figures_can_be_read_is_not_filed",
    ),
    Mutation(
        "units without a code are nobody's peers",
        "peers.py:_of_value",
        "usable = all(code not in (None, groups.UNKNOWN) for code in codes)",
        "usable = True",
        "test_units_without_a_code_are_nobodys_peers",
    ),
    Mutation(
        "a negative value leaves no share of the largest",
        "summary.py:_statistics",
        "(ordered.list.first() >= 0) & ",
        "",
        "test_a_negative_value_leaves_no_share_of_the_largest",
    ),
    Mutation(
        "a ratio of yes or no has no sum",
        "ratios.py:has_sum",
        " and name != BELOW_CRISIS",
        "",
        "test_a_ratio_has_neither_sum_nor_concentration",
    ),
    Mutation(
        "codes that the codelist lacks are one group",
        "summary.py:_with_unknown",
        "yield pl.when(is_known).then(field).alias(field)",
        "yield pl.col(field)",
        "test_unknown_codes_and_no_code_are_one_group",
    ),
    Mutation(
        "no median is of fewer than five units",
        "drawn_table.py:_of_boxes",
        "unit.n_unique() >= FEWEST",
        "pl.len() >= FEWEST",
        "test_no_median_is_of_fewer_than_five_units",
    ),
    Mutation(
        "a report of another statement hides none",
        "choice.py:listed_reports",
        'pl.col("report_id").filter("own").max()',
        'pl.col("report_id").max()',
        "test_a_report_of_another_statement_hides_none",
    ),
    Mutation(
        "rows without a year are of units without any",
        "choice.py:chosen",
        'pl.col("is_dated").is_null()',
        "pl.lit(value=True)",
        "test_a_record_without_a_year_is_a_row_only_of_a_unit_without_any",
    ),
    Mutation(
        "half a filing with a cell that is no number has its reason",
        "choice.py:figures_of_filings",
        "pl.col(flags).any()",
        "pl.col(flags).all()",
        "test_half_a_filing_has_its_reason",
    ),
    Mutation(
        "half a filing has the reason of the half that is not there",
        "assemble.py:_with_reasons",
        '.when(pl.col("half").is_not_null()).then("half")',
        "",
        "test_the_missing_half_is_the_reason_beside_the_figures_of_the_other",
    ),
    Mutation(
        "notes beside half a filing do not say why the other half is not there",
        "choice.py:reasons_of_halves",
        ".filter(says_why)",
        "",
        "test_a_half_that_is_not_listed_has_no_content",
    ),
    Mutation(
        "a blank half has no reason",
        "choice.py:reasons_of_halves",
        '.filter("has_figure", pl.col("idSablony") == 1)',
        '.filter("has_figure")',
        "test_a_blank_half_and_a_form_that_holds_everything_have_no_reason",
    ),
    Mutation(
        "a row has figures whatever its reason",
        "reasons.py:has_figures",
        "return pl.col(HAS_FIGURES).fill_null(value=False)",
        'return pl.col("reason").is_null()',
        "test_findings_and_charts_go_by_the_figures",
    ),
    Mutation(
        "half a filing in another currency is none in euros",
        "assemble.py:sources",
        'pl.col("currency").filter("is_source", pl.col("currency") != EURO).first(),',
        "",
        "test_half_a_filing_has_its_reason",
    ),
    Mutation(
        "what is cut off before the first unit has the columns of the result",
        "methods/financials.py:_records_of",
        "lambda: nothing",
        "lambda: pl.DataFrame()",
        "test_what_is_cut_off_before_the_first_unit_has_the_columns_of_the_result",
    ),
    Mutation(
        "the last year of two reports is planned with two",
        "collections/figures.py:requests_of",
        "year <= _LAST_OLD_YEAR",
        "year < _LAST_OLD_YEAR",
        "test_the_last_year_of_two_reports_is_planned_with_more_of_them",
    ),
    Mutation(
        "newer years that cannot be read take no place in a history",
        "methods/financials.py:statement",
        'filed.filter(pl.col("reason").is_null())',
        "filed",
        "test_newer_years_that_cannot_be_read_take_no_place",
    ),
    Mutation(
        "the report of the higher id gives the kind",
        "choice.py:with_kinds",
        '.sort("report_id", descending=True)',
        '.sort("report_id")',
        "test_of_two_kinds_that_reports_give_the_higher_id_has_the_say",
    ),
    Mutation(
        "a report of another statement gives no kind",
        "choice.py:with_kinds",
        'listed.filter("own")',
        "listed",
        "test_of_two_kinds_that_reports_give_the_higher_id_has_the_say",
    ),
    Mutation(
        "a report that is no source makes no filing foreign",
        "assemble.py:sources",
        'pl.col("currency").filter("is_source").drop_nulls().first()',
        'pl.col("currency").drop_nulls().first()',
        "test_a_report_that_is_no_source_makes_no_filing_foreign",
    ),
    Mutation(
        "the sums of a report that is no source do not count",
        "assemble.py:_checks",
        'listed.filter("is_source")',
        "listed",
        "test_the_sums_of_a_report_that_is_no_source_do_not_count",
    ),
    Mutation(
        "the first day of a previous period that ends on another day is not known",
        "assemble.py:_of_the_year_before",
        'pl.when(pl.col("before_to") == last).then("before_from")',
        'pl.col("before_from")',
        "test_the_length_of_the_period_before_is_that_of_the_title_page",
    ),
    Mutation(
        "exactly five units are not too few",
        "plot_map.py:_why_without",
        ">= FEWEST",
        "> FEWEST",
        "test_exactly_five_units_are_not_too_few",
    ),
    Mutation(
        "groups without a value have no bar",
        "drawn_table.py:of_bars",
        ".filter(count > 0)",
        "",
        "test_groups_without_a_value_have_no_bar",
    ),
    Mutation(
        "groups of two stand in the order of their weighted means",
        "drawn_table.py:_rows_of_pairs",
        '(number * pl.col("n")).sum() / pl.col("n").sum()',
        "number.mean()",
        "test_groups_of_two_stand_in_the_order_of_their_weighted_means",
    ),
    Mutation(
        "a filing without a currency is in korunas until 2008",
        "assemble.py:with_currency",
        'pl.coalesce(korunas, "currency")',
        '"currency"',
        "test_a_filing_of_2008_without_a_currency_is_in_korunas",
    ),
    Mutation(
        "half a filing without a currency is in korunas until 2008",
        "assemble.py:with_currency",
        "by_law & is_euro",
        'by_law & pl.col("currency").is_null()',
        "test_half_a_filing_of_2008_without_a_currency_is_in_korunas",
    ),
    Mutation(
        "forms, cells and checks name the reports that are in korunas",
        "currency.py:of_reports",
        "in_koruna(last)",
        "pl.lit(value=False)",
        "test_a_filing_of_2008_without_a_currency_is_in_korunas",
    ),
    Mutation(
        "a previous period ends before its filing's begins",
        "assemble.py:_of_the_year_before",
        'begins.dt.offset_by("-1d")',
        "begins",
        "test_the_period_before_ends_the_day_before",
    ),
    Mutation(
        "printed histories keep cents",
        "history.py:history",
        "2 if any(cents) else 0",
        "0",
        "test_cents_are_kept",
    ),
    Mutation(
        "a filing whose period ends before it begins does not count",
        "filings.py:_described",
        "_of_the_statement(), not_own, reversed_period",
        "_of_the_statement(), not_own",
        "test_a_period_that_ends_before_it_begins_supersedes_none",
    ),
    Mutation(
        "reports that contradict each other give no number",
        "choice.py:ambiguous",
        'pl.col("content") > 1',
        'pl.col("content") > 9',
        "test_two_reports_on_one_form_that_contradict_each_other_give_no_number",
    ),
    Mutation(
        "equal reports on one form are one",
        "choice.py:ambiguous",
        'pl.col("content").n_unique()',
        'pl.col("content").len()',
        "test_equal_reports_on_one_form_are_one",
    ),
    # A health report can be shown to others, and repeated.
    Mutation(
        "a health report names no value of a record",
        "report.py:_nameless",
        "re.sub('[0-9]', '9', rest)",
        "rest",
        "test_a_report_names_nobody",
    ),
    # A mirror: a run is whole, what is lost is requested again, a bad record alone.
    Mutation(
        "records and their cells are appended at once",
        "fetch.py:Records._commit",
        "writer.append(*batches)",
        "for batch in batches:\n            writer.append(batch)",
        "test_a_killed_sync_of_contents_is_put_right",
    ),
    Mutation(
        "a first sync of given units that was cut off goes on",
        "sync.py:Sync._once",
        "if writer.run.points else 0",
        "",
        "test_a_first_sync_that_was_cut_off_requests_no_unit_again",
    ),
    Mutation(
        "a point is not added before the lists are done",
        "sync.py:Sync._once",
        "if lists_are_done:",
        "if not writer.run.under_way:",
        "test_a_file_that_goes_before_the_lists_are_walked_adds_no_point",
    ),
    Mutation(
        "a list goes on at the id that it named last",
        "sync.py:Sync._list",
        "walk.since, walk.after",
        "walk.since, 0",
        "test_a_budget_shorter_than_the_lists_makes_progress",
    ),
    Mutation(
        "a list that was cut off is followed by that of the changes meanwhile",
        "sync.py:Sync._once",
        "while goes_on:",
        "if goes_on:",
        "test_what_changes_between_two_parts_of_a_sync_comes_with_the_second",
    ),
    Mutation(
        "what a full disk kept from being named is named by the next sync",
        "sync.py:Sync._list",
        "writer.run = before",
        "pass",
        "test_a_full_disk_stops_a_sync_and_breaks_nothing",
    ),
    Mutation(
        "a day is answered by the last point that is not later",
        "runs.py:Run.on",
        "return points[-1]",
        "return self.points[len(points) - 1]",
        "test_a_clock_that_stood_ahead_hides_no_day",
    ),
    Mutation(
        "days are those of the register",
        "sync.py:Sync._today",
        "wire.day_of(self.register._session.exchange.sent)",
        "self.register.today",
        "test_a_day_is_that_of_the_register_and_not_of_this_machine",
    ),
    Mutation(
        "a sync belongs to the day on which it was done",
        "writer.py:Writer.point",
        "began, self.today, run",
        "began, began, run",
        "test_a_sync_over_midnight_belongs_to_the_day_on_which_it_was_done",
    ),
    Mutation(
        "a day that needs what was lost is an error",
        "state.py:State.files",
        "self.run.loss(name, self.point)",
        "None",
        "test_a_day_that_needs_what_was_lost_is_an_error",
    ),
    Mutation(
        "former days that lost nothing stay readable",
        "runs.py:Run.loss",
        "loss.log == log and",
        "",
        "test_a_day_that_needs_what_was_lost_is_an_error",
    ),
    Mutation(
        "the days of a lost run are refused",
        "folder.py:Folder.mended",
        "return run, noted.number",
        "return run, None",
        "test_a_damaged_run_falls_back_to_the_one_before",
    ),
    Mutation(
        "a run that was removed is missed",
        "folder.py:Folder.newest",
        "noted.number if noted else 0, *numbers",
        "0, *numbers",
        "test_a_damaged_run_falls_back_to_the_one_before",
    ),
    Mutation(
        "cells are placed once their template is known",
        "fetch.py:Templates.fetch",
        "if moved:",
        "if False:",
        "test_cells_get_their_places_once_the_template_is_known",
    ),
    Mutation(
        "what is missing is confirmed to the id",
        "sync.py:Sync._mark_missing",
        "len(missing) > most",
        "len(missing) > most + 1",
        "test_what_the_register_dropped_stays_missing",
    ),
    Mutation(
        "what no list ever named is missing from none",
        "sync.py:Sync._mark_missing",
        'name == "reports" and len(missing)',
        "False",
        "test_a_report_that_a_statement_names_and_no_list_has_is_fetched",
    ),
    Mutation(
        "an extract has no cells of former versions",
        "extract.py:_parts",
        'cells = cells.join(held, on=["report_id", "version"], how="semi")',
        "pass",
        "test_an_extract_has_the_cells_of_the_newest_version",
    ),
    Mutation(
        "a damaged file is found",
        "files.py:File.fault",
        "digest(path) != self.name",
        "False",
        "test_any_damage_is_found_by_a_full_sync test_each_file_is_compared_in_thirty_syncs",
    ),
    Mutation(
        "a damaged file gets no new name",
        "files.py:Layout.merged",
        "if fault := file.fault(folder, whole=True):",
        "if False:",
        "test_a_damaged_file_gets_no_new_name",
    ),
    Mutation(
        "no merge crosses a point",
        "files.py:merged_groups",
        "file.last <= upto",
        "True",
        "test_no_merge_crosses_a_point",
    ),
    Mutation(
        "names and answers never share a file",
        "files.py:merged_groups",
        "(file.names, file.last <= upto) == (names, counts)",
        "(True, file.last <= upto) == (names, counts)",
        "test_many_small_files_are_merged_while_records_come",
    ),
    Mutation(
        "a pulled file is compared with its name",
        "pull.py:Pull._fetch",
        "sha256(content).hexdigest() != file.name",
        "False",
        "test_what_the_server_sends_is_checked",
    ),
    Mutation(
        "a name that leads out of the folder is refused",
        "pull.py:Pull._newest",
        "not _NAME.fullmatch(file.name) or",
        "",
        "test_what_the_server_says_of_itself_is_checked",
    ),
    Mutation(
        "a pull begins again where a file is gone",
        "pull.py:Pull.go",
        "if time == _TIMES:",
        "if True:",
        "test_a_merge_there_meanwhile_begins_again",
    ),
    Mutation(
        "a pull goes forward or not at all",
        "pull.py:Pull._see_forward",
        "mine.id != its.id",
        "False",
        "test_another_history_is_refused_with_what_differs",
    ),
    Mutation(
        "a point whose run was lost there is taken out",
        "pull.py:_known",
        "p.run in lost and",
        "False and",
        "test_a_point_whose_run_was_lost_there_is_taken_out",
    ),
    Mutation(
        "what a unit had when it was first fetched is no news",
        "news.py:_changed",
        "if given else after",
        "if False else after",
        "test_filings_of_a_unit_that_was_added_are_no_news",
    ),
    Mutation(
        "news of rows that were lost are refused",
        "news.py:point_since",
        "for log in _LOGS",
        "for log in ()",
        "test_states_whose_rows_were_lost_are_refused",
    ),
    Mutation(
        "the mark of news stays where something is lost now",
        "news.py:written_since_mark",
        "state.files(log)",
        "pass",
        "test_a_mark_whose_state_was_lost_is_said_and_replaced_once_it_is_whole",
    ),
    Mutation(
        "a sync of a pulled mirror requests no lost file",
        "sync.py:Sync._once",
        "if losses and is_pulled and",
        "if False and",
        "test_damage_is_cured_by_a_pull_of_all",
    ),
    Mutation(
        "newest.json names a run that is kept",
        "folder.py:Folder.commit",
        " or run.shown not in stay",
        "",
        "test_runs_of_syncs_after_a_pull_leave_what_newest_json_names",
    ),
    Mutation(
        "a redirect is followed to https alone",
        "files.py:Files.send",
        'not url.startswith("https://")',
        "False",
        "test_any_other_redirect_is_refused",
    ),
    Mutation(
        "each byte of a file moves the deadline on",
        "base.py:Limits.came",
        "self.idle is not None",
        "False",
        "test_each_byte_that_comes_moves_the_deadline_on",
    ),
    Mutation(
        "what was changed there is no difference",
        "compare.py:_is_later",
        "changed >= seen",
        "False",
        "test_what_was_changed_is_told_from_what_differs",
    ),
    Mutation(
        "what a kept run lists is not deleted",
        "folder.py:Folder.sweep",
        "names |= opened(self._file(number)).names",
        "opened(self._file(number))",
        "test_what_a_merge_replaced_stays_while_somebody_may_read_it",
    ),
    Mutation(
        "an unchanged record is the row that it names",
        "standing.py:standing",
        "np.where(same == content, np.maximum(content, unchanged), content)",
        "np.maximum(content, unchanged)",
        "test_lost_answers_are_requested_again_and_no_list_is_walked",
    ),
    Mutation(
        "reports whose cells are lost are lost",
        "writer.py:void_in",
        'if name == "reports"',
        "if False",
        "test_lost_answers_are_requested_again_and_no_list_is_walked",
    ),
    Mutation(
        "a codelist that is empty does not replace one with entries",
        "sync.py:Sync._codelists",
        "before.height and entries.is_empty()",
        "False",
        "test_a_codelist_that_shrinks_to_nothing_is_kept",
    ),
    Mutation(
        "a field that a later version adds changes no digest",
        "rows.py:answers_of",
        'contents = contents.str.replace_all(r\',?"\\w+":null\', "")',
        "pass",
        "test_a_field_that_a_later_version_adds_changes_no_digest",
    ),
    Mutation(
        "an outage is no fault of records",
        "outage.py:unless_down",
        "raise error",
        "return",
        "test_an_outage_is_no_fault_of_records test_get_of_a_register_that_is_down_is_an_error",
    ),
    Mutation(
        "one bad record delays only itself",
        "outage.py:unless_down",
        "if readable is None or readable in tried else [readable]",
        "if False else []",
        "test_bad_units_delay_themselves_alone",
    ),
    Mutation(
        "a budget bounds what is under way",
        "fetch.py:Budget.holds",
        "before, self._exchange.end = self._exchange.end, self._end",
        "before = self._exchange.end",
        "test_a_budget_bounds_what_is_under_way",
    ),
    Mutation(
        "a template that was corrected is requested again",
        "fetch.py:Templates.complete",
        '{*used} & {*kept.filter(is_old)["id"]}',
        "set[int]()",
        "test_a_template_that_was_corrected_is_fetched_again",
    ),
    # What analysts bring and take away.
    Mutation(
        "of several units with a name none is chosen",
        "matching.py:_match",
        "if len(there) == 1:",
        "if there:",
        "test_nothing_doubtful_is_chosen",
    ),
    Mutation(
        "a number whose unit has another name is doubtful",
        "matching.py:_confirms",
        "return _is_alike(row.bare.split(), unit.bare.split())",
        "return True",
        "test_nothing_doubtful_is_chosen",
    ),
    Mutation(
        "eight digits behind SK are no IČO",
        "matching.py:number_of",
        "if is_vat or ico is None",
        "if ico is None",
        "test_nothing_doubtful_is_chosen",
    ),
    Mutation(
        "a place that begins with the name of another is not that one",
        "matching.py:_is_there",
        "short in _CITIES and",
        "",
        "test_nothing_doubtful_is_chosen",
    ),
    Mutation(
        "a day is that of the register's zone",
        "arguments.py:day",
        "value.astimezone(ZONE)",
        "value",
        "test_a_datetime_is_cut_to_its_day",
    ),
    Mutation(
        "a body nested too deeply is a broken reply",
        "untrusted.py:read_json",
        "except RecursionError",
        "except MemoryError",
        "test_a_body_nested_too_deeply_is_a_broken_reply",
    ),
    Mutation(
        "a file of markup is no outage page",
        "downloads.py:_checked",
        "elif is_markup(body):",
        "if is_markup(body):",
        "test_a_file_of_markup_is_no_outage_page",
    ),
    Mutation(
        "an argument that a tool does not have is refused",
        "server.py:Server._checked",
        "if argument not in known:",
        "if False:",
        "test_what_cannot_be_answered_is_refused_with_its_cure",
    ),
    Mutation(
        "a cancelled call sends nothing more",
        "server.py:Server.call_tool",
        "stop.set()",
        "pass",
        "test_a_call_that_is_cancelled_stops",
    ),
    Mutation(
        "code of the same process goes on after a call",
        "server.py:Server.call_tool",
        "CALLER.reset(token)",
        "pass",
        "test_a_call_that_was_late_leaves_the_register_as_it_was",
    ),
    Mutation(
        "signs in a text for the assistant mean themselves",
        "tools.py:Tools.codes",
        "contains(plain, literal=True)",
        "contains(plain)",
        "test_codes_are_searched_without_accents_and_case",
    ),
    Mutation(
        "an activity of one digit is no sector",
        "tools.py:_codes",
        "2 <= len(activity)",
        "1 <= len(activity)",
        "test_what_cannot_be_answered_is_refused_with_its_cure",
    ),
    Mutation(
        "names in errors stand between marks",
        "tools.py:Tools._id",
        '"unit", marked',
        '"unit"',
        "test_names_found_by_a_name_are_data",
    ),
    Mutation(
        "numbers within names are the same",
        "matching.py:_is_alike",
        "digits[0] and digits[0] != digits[1]",
        "False",
        "test_nothing_doubtful_is_chosen",
    ),
    Mutation(
        "what was filed on the day is known",
        "filings.py:is_filed",
        "(day <= until)",
        "(day < until)",
        "test_a_later_correction_is_left_out",
    ),
    Mutation(
        "before its first filing a unit has no filing, whatever the year",
        "filings.py:by_rule",
        'statements.filter(~is_there)["id"]',
        'statements.clear()["id"]',
        "test_before_the_first_filing_there_is_none_whatever_the_year",
    ),
    Mutation(
        "what was filed by a day is looked for below the year, too",
        "collections/figures.py:_filed",
        "min(first_year, wanted.filed_until.year)",
        "first_year",
        "test_before_the_first_filing_there_is_none_whatever_the_year",
    ),
    Mutation(
        "items of several families come first",
        "items.py:_place",
        "-1 if others",
        "9 if others",
        "test_the_shared_items_come_first",
    ),
    Mutation(
        "days of pandas are days",
        "given_frames.py:_column",
        "moments.cast(pl.Date) if is_day else moments",
        "moments",
        "test_days_and_numbers_with_a_gap_are_what_they_were",
    ),
    Mutation(
        "a wide table has euro alone",
        "wide.py:by_year",
        'pl.col("currency") == "EUR"',
        "pl.lit(value=True)",
        "test_koruna_are_no_euro",
    ),
    Mutation(
        "two rows of a unit and year are not one",
        "wide.py:_of_units",
        "not twice.is_empty()",
        "False",
        "test_what_cannot_be_wide_is_refused",
    ),
]


def mutated(mutation: Mutation, tree: Path = ROOT) -> tuple[Path, str, str]:
    """Return the file that a mutation changes, its text afterwards, and that of the function.

    Raises:
        LookupError: Function or text is gone, or is there more than once; the message names the
            row.
    """
    file, _, name = mutation.place.partition(":")
    places = [
        (path, node)
        for path in (tree / "finstat_kit").rglob(file)
        for node in _named(parsed(path.read_text(encoding="utf-8")), name.split("."))
    ]
    if len(places) != 1:
        raise LookupError(f"{mutation}: {len(places)} functions of that name; change the row")
    ((path, node),) = places
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    function = "".join(lines[node.lineno - 1 : node.end_lineno])
    if (times := function.count(mutation.before)) != 1:
        raise LookupError(f"{mutation}: the text is there {times} times; change the row")
    changed = function.replace(mutation.before, mutation.after)
    lines[node.lineno - 1 : node.end_lineno] = [changed]
    return path, "".join(lines), changed


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _named(node: ast.AST, names: list[str]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that a path of names, of classes and of a function, leads to."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and child.name == names[0] and len(names) > 1:
            yield from _named(child, names[1:])
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and [child.name] == names:
            yield child


def found_tests(mutation: Mutation) -> list[str]:
    """Return the tests of a mutation as pytest names them.

    Raises:
        LookupError: One is gone, or its name is that of several.
    """
    nodes = []
    for name in mutation.tests.split():
        files = _files_of_tests().get(name, [])
        if len(files) != 1:
            raise LookupError(f"{mutation}: {name} is in {len(files)} files; change the row")
        nodes.append(f"{files[0]}::{name}")
    return nodes


@cache
def _files_of_tests() -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            files.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    return files


def survivors(tree: Path, tests: list[str], patience: float | None = _PATIENCE) -> list[str]:
    """Run tests on a copy of the tree and return those that pass; none where they do not end."""
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *_OPTIONS, *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            text=True,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return []
    if run.returncode not in (0, 1):
        raise SystemExit(f"the tests cannot be run:\n{run.stdout}{run.stderr}")
    failed = re.findall(r"^(?:FAILED|ERROR) ([^\s\[]+)", run.stdout, re.MULTILINE)
    return [test for test in tests if test not in failed]


def main() -> None:
    """Print what each mutation leaves unnoticed, and the score."""
    words = sys.argv[1:]
    chosen = [m for m in MUTATIONS if not words or any(w in " ".join(m) for w in words)]
    if not chosen:
        raise SystemExit(f"no row contains {' or '.join(words)}")
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv*", ".hypothesis", ".*_cache")
        )
        tests = sorted({test for mutation in chosen for test in found_tests(mutation)})
        if red := set(tests) - set(survivors(tree, tests, None)):
            raise SystemExit(f"these tests fail without any mutation: {' '.join(sorted(red))}")
        for mutation in chosen:
            path, text, _ = mutated(mutation, tree)
            former = path.read_text(encoding="utf-8")
            path.write_text(text, encoding="utf-8")
            passed = survivors(tree, found_tests(mutation))
            path.write_text(former, encoding="utf-8")
            caught += not passed
            print("NOT CAUGHT" if passed else "caught", mutation, *passed, flush=True)
    print(f"{caught} of {len(chosen)} mutations are caught")
    sys.exit(caught < len(chosen))


if __name__ == "__main__":
    main()
