"""Break each guard in turn and see which test notices: ``python tests/mutate.py [word …]``.

Every row of `MUTATIONS` is a file, what stands there, what is put in its place, and the tests that
should notice. The work happens on a copy of the tree. The exit code is the number of mutations
that nothing caught. Words given pick the rows that contain them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_PATIENCE = 180  # seconds; a guard against endless walks shows in a walk that does not end


class Mutation(NamedTuple):
    file: str
    before: str
    after: str
    tests: str


MUTATIONS = [
    Mutation("protocol/paging.py", "ids[0] <= query.after_id", "False", "paging register"),
    Mutation("protocol/paging.py", "ids[0] <= query.after_id", "ids[0] < query.after_id", "paging register"),
    Mutation("protocol/paging.py", "ids[1:] > ids[:-1]", "ids[1:] >= ids[:-1]", "paging"),
    Mutation("protocol/paging.py", "page.ids.is_empty() or not page.more", "page.ids.is_empty() or page.more", "paging register"),
    Mutation("protocol/paging.py", "int(page.ids[-1])", "int(page.ids[0])", "paging register"),
    Mutation("protocol/requests.py", "check(query, found, before)", "pass", "register"),
    Mutation("client/pages.py", "error.cursor = self.cursor", "pass", "register"),
    Mutation("service/store.py", "len(ids) > size", "len(ids) >= size", "routes"),
    Mutation("service/store.py", "return len(self.ids) - start", "return len(self.ids)", "routes"),
    Mutation("service/store.py", "self.changed[rows] >= since", "self.changed[rows] > since", "routes"),
    Mutation("service/routes.py", "and not len(ids)", "and len(ids)", "routes"),
    Mutation("service/routes.py", "if name in self._values:", "if False:", "routes"),
    Mutation("frames/labels.py", 'name = f"name_{checked_lang(lang)}"', 'name = "name_sk"', "labels"),
    Mutation("frames/labels.py", "if existing not in label_columns:", "if True:", "labels"),
    Mutation("frames/labels.py", ".when(pl.col(\"code\").is_null())", ".when(pl.lit(False))", "labels"),
    Mutation("protocol/replies.py", "if type(more) is not bool:", "if False:", "paging"),
    Mutation("protocol/replies.py", "if doubtful and", "if False and", "paging"),
    Mutation("cli/commands.py", "left = left[sys.stdout.buffer.write(left) :]", "sys.stdout.buffer.write(left); break", "commands"),
    Mutation("cli/commands.py", "with _uninterrupted():", "if True:", "commands"),
    Mutation("transport/bodies.py", "if not unpacker.eof or unpacker.unused_data:", "if False:", "faults"),
    Mutation("transport/http.py", "if good and len(body) > cap:", "if False:", "faults"),
    Mutation("transport/http.py", "min(left, _LOOK_UP)", "timeout", "faults"),
    Mutation("transport/exchange.py", "self._failures >= _FAILURES_IN_A_ROW", "False", "faults"),
    Mutation("transport/exchange.py", "max(now, self._next_slot, self._pause_until)", "max(now, self._next_slot)", "faults"),
    Mutation("transport/threads.py", "stop.set()", "pass", "faults"),
    Mutation("client/scan.py", "if predicate is not None and n_rows is None:", "if predicate is not None:", "scan"),
    Mutation("client/scan.py", "rows = frame if self._predicate is None else frame.filter(self._predicate)", "rows = frame", "scan"),
    Mutation("protocol/replies.py", 'reply.get("id") != asked', "False", "register"),
    Mutation("protocol/replies.py", "json.dumps(reply, ensure_ascii=False).encode()", "pass", "replies"),
    Mutation("protocol/replies.py", "if len(found) < len(pairs):", "if False:", "paging register"),
    Mutation("protocol/split_walk.py", "segment.limit is None or last < segment.limit", "True", "split_walk"),
    Mutation("protocol/split_walk.py", 'ids[low:high]', "ids[low:]", "split_walk"),
    Mutation("protocol/split_walk.py", 'if not segment.done:\n                break', "pass", "split_walk"),
    Mutation("protocol/split_walk.py", "self._spent < spare", "True", "split_walk"),
    Mutation("protocol/requests.py", "check(query, found, before)", "pass", "split_walk"),
    Mutation("transport/threads.py", "if pressure() > pressed:", "if False:", "split_walk"),
    Mutation("protocol/outcome.py", '[:1] == b"<"', '[:1] == b"?"', "register"),
    Mutation("charts/bars.py", "for kind in labels.KINDS[1:]", "for kind in ()", "charts"),
    Mutation("charts/bars.py", "labelled.slice(top)", "labelled.slice(top + 1)", "charts"),
    Mutation("charts/last_changes.py", "labelled & ~pl.col", "labelled & pl.col", "charts"),
    Mutation("charts/drawing.py", "if seen[label] > 1", "if False", "charts"),
    Mutation("charts/drawing.py", '.replace("$", r"\\$")', "", "charts"),
    Mutation("charts/tile_map.py", "table.filter(~tiled)", "table.head(0)", "charts"),
    Mutation("charts/tile_map.py", "ordered.index(value)", "0", "charts"),
    Mutation("widgets/location.py", "if control.options != options:", "if not control.options[1:]:", "widgets"),
    Mutation("widgets/options.py", 'self.name_sk if lang == "sk" else self.name_en', "self.name_sk", "widgets"),
    Mutation("charts/tiles.py", "   .  0216 0223", " 0216   .  0223", "charts"),
    Mutation("health/report.py", "_parsed(partial(parse, body))", "pass", "report"),
    Mutation("health/report.py", "not ids and more is False", "True", "report"),
    Mutation("health/report.py", "shown(line.seen)", "line.seen", "report"),
    Mutation("health/report.py", "0 <= id_ <= wire.MAX_ID", "True", "report"),
    Mutation("health/probe.py", "if reply.status != 200:", "if False:", "report"),
    Mutation("health/probe.py", "if reply.status in _ASKS_FOR_PEACE or", "if", "report"),
    Mutation("health/probe.py", 'or (reply.status != 200 and "retry-after" in headers)', "", "report"),
    Mutation("health/probe.py", "self._bad == _SILENCE", "False", "report"),
    Mutation("health/probe.py", "self._unanswered == _SILENCE", "False", "report"),
    Mutation("health/probe.py", "self._second_tries -= 1", "pass", "report"),
    Mutation("health/probe.py", "            if not self._second_tries:\n                raise\n", "            raise\n", "report"),
    Mutation("client/register.py", 'host.encode("idna")', "pass", "register"),
    Mutation("service/files.py", "if folder is not None and not given:", "if False:", "sample"),
    Mutation("health/report.py", "if any(odd.values()):", "if False:", "report"),
    Mutation("health/report.py", "a < b for a, b", "True for a, b", "report"),
    Mutation("health/report.py", "before - len(ids) == after", "True", "report"),
    Mutation("health/report.py", "if not patient.seconds:", "if False:", "report"),
    Mutation("service/parameters.py", r"(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?", r"(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?", "served"),
    Mutation("service/parameters.py", '_DIGITS: Final = re.compile(r"[0-9]{1,100}")', '_DIGITS: Final = re.compile(r"\\d{1,100}")', "served"),
    Mutation("service/parameters.py", '_DIGITS: Final = re.compile(r"[0-9]{1,100}")', '_DIGITS: Final = re.compile(r"[0-9]{1,200}")', "served"),
    Mutation("service/parameters.py", "1, wire.MAX_PAGE, cut=True", "0, wire.MAX_PAGE, cut=True", "served"),
    Mutation("service/parameters.py", "0, wire.MAX_ID)", "0, wire.MAX_ID + 1)", "served"),
    Mutation("service/parameters.py", "MAX_QUERY: Final = 8_192", "MAX_QUERY: Final = 8_193", "served"),
    Mutation("service/parameters.py", "MAX_PARAMETERS: Final = 100", "MAX_PARAMETERS: Final = 101", "served"),
    Mutation("service/parameters.py", "PAGING | FILTERS if name == wire.UNITS else PAGING", "PAGING | FILTERS", "openapi"),
    Mutation("service/routes.py", "if self.strict or not rule.cut:", "if not rule.cut:", "served"),
    Mutation("service/routes.py", "if self.strict and self._values:", "if False:", "routes"),
    Mutation("service/routes.py", "pattern.fullmatch(value)", "pattern.match(value)", "served"),
    Mutation("service/routes.py", "except UnicodeError:", "except UnicodeDecodeError:", "routes"),
    Mutation("service/routes.py", "if _BROKEN_ESCAPE.search(text):", "if False:", "routes"),
    Mutation("service/routes.py", 'store.columns["state"], 0)', 'store.columns["state"], 1)', "routes"),
    Mutation("service/routes.py", 'html.escape("".join(c if c.isprintable() else "?" for c in text[:100]))', 'text', "served"),
    Mutation("service/routes.py", 'b"" if method == "HEAD" else body', "body", "served"),
    Mutation("service/routes.py", 'reply.headers | {"Allow": "GET, HEAD"}', "reply.headers", "served"),
    Mutation("service/routes.py", "_ROUTES.get(path)", '_ROUTES.get(path.rstrip("/"))', "served"),
    Mutation("service/openapi.py", 'if strict else {"id"}', 'if False else {"id"}', "openapi"),
    Mutation("service/openapi.py", "if strict or not rule.cut:", "if True:", "openapi"),
    Mutation("service/openapi.py", '{"format": "date"}, text', '{}, text', "contract"),
    Mutation("service/openapi.py", 'absent={"id"}', "absent=set()", "contract"),
    Mutation("service/openapi.py", 'if status == "405":', "if True:", "contract"),
    Mutation("service/server.py", "self.loop.call_later(_LINGER, self.transport.close)", "self.transport.close()", "http"),
    Mutation("service/server.py", "                if self._refused:\n                    return\n", "", "http"),
    Mutation("service/server.py", "if self._unread > _MOST_UNREAD:", "if False:", "http"),
    Mutation("service/server.py", "def send_400_response", "def send_400_other", "http"),
    Mutation("service/asgi.py", 'scope["query_string"].decode("ascii", errors="surrogateescape")', 'scope["query_string"].decode("latin-1")', "http"),
    Mutation("client/register.py", 'if isinstance(base_url, str) and "@" in', 'if False and "@" in', "security"),
    Mutation("protocol/outcome.py", "if not text.isprintable():", "if False:", "security"),
    Mutation("service/population.py", "allow_pickle=False", "allow_pickle=True", "security"),
    Mutation("frames/sheets.py", "sheet.write_string(row, place, text)", "sheet.write(row, place, text)", "sheets"),
    Mutation("widgets/base.py", 'f"{escape(cell)}{close_cell}"', 'f"{cell}{close_cell}"', "widgets"),
    Mutation("service/asgi.py", "_host(scope) in self._hosts", "True", "http"),
    Mutation("protocol/outcome.py", "if 300 <= status < 400:", "if False:", "faults"),
    Mutation("client/pages.py", "int(ids[-1]) if ids.len()", "int(ids[0]) if ids.len()", "stateful"),
    Mutation("client/pages.py", "self._query = following or", "self._query =", "stateful"),
    Mutation("protocol/paging.py", "return None if ended(page)", "return None if ended(page) or len(page.ids) < query.page_size", "stateful"),
    Mutation("protocol/split_walk.py", "ends = ended(page)", "ends = ended(page) or len(ids) < ask.query.page_size", "stateful"),
    Mutation("protocol/split_walk.py", "if not segment.done:\n                break", "pass", "stateful"),
    Mutation("client/collection.py", "error.partial, error.cursor = came()", "error.partial, error.cursor = came()[0], 0", "stateful"),
    Mutation("transport/exchange.py", "+ 1 / self._rate", "+ 0", "load"),
    Mutation("transport/exchange.py", "if turn is None or turn < self._pause_until:", "if turn is None:", "load"),
    Mutation("service/server.py", "self._timer = self.loop.call_later(patience, self.transport.close)", "pass", "load"),
    Mutation("transport/exchange.py", "if isinstance(error, FinalTransportError):", "if False:", "faults"),
    Mutation("mirror/versions.py", "np.lexsort((versions[rows], ids[rows]))", "np.argsort(-versions[rows])", "mirror"),
    Mutation("mirror/versions.py", ".digest(version, seen) != digest", ".digest(version, seen) != version", "mirror"),
    Mutation("mirror/syncing.py", "min(days) - timedelta(days=1)", "min(days)", "mirror"),
    Mutation("mirror/syncing.py", "days += [] if newest is None else [newest]", "pass", "mirror"),
    Mutation("mirror/syncing.py", 'days = [completed["started"][-1], today]', "days = [today]", "mirror"),
    Mutation("mirror/syncing.py", 'if last is not None and (', 'if False and (', "mirror"),
    Mutation("mirror/syncing.py", 'state["cursor"] if state.get("run") == run.run else 0', 'state.get("cursor", 0)', "mirror"),
    Mutation("mirror/syncing.py", "cursor = id_ if moves else cursor", "cursor = id_", "mirror"),
    Mutation("mirror/syncing.py", "len(self._doubtful) == _OUTAGE", "False", "mirror"),
    Mutation("mirror/syncing.py", "isinstance(record, RegisterUnavailable) and record.blocked", "False", "mirror"),
    Mutation("mirror/syncing.py", "if len(gone) > most:", "if False:", "mirror"),
    Mutation("mirror/syncing.py", "if not self._known.says(row)", "if True", "mirror"),
    Mutation("mirror/syncing.py", "rate * _BATCH_SECONDS", "_BATCH", "mirror"),
    Mutation("mirror/keeping.py", "if not run.resumed:", "if True:", "mirror"),
    Mutation("mirror/keeping.py", 'completed["started"][-1] != run.started', "False", "mirror"),
    Mutation("mirror/keeping.py", "if is_open or", "if", "mirror"),
    Mutation("mirror/keeping.py", "is_open = open_run(self._held.lists, runs) is not None", 'is_open = any(t.state().get("run") == run.run for t in self._held.lists.values())', "mirror"),
    Mutation("mirror/mirror.py", 'if name and f"{wire.CHANGED_SINCE}={wire.BEGINNING}" not in query:', "if False:", "mirror"),
    Mutation("mirror/mirror.py", 'pl.col("completed") <= day', 'pl.col("completed") < day', "mirror"),
    Mutation("mirror/codelists.py", "if before and not lists[name]:", "if False:", "mirror"),
    Mutation("mirror/sealed.py", "sha256(body).hexdigest().encode() != checksum", "False", "mirror"),
    Mutation("mirror/verifying.py", "checksums.get(file.name, checksum) == checksum", "True", "mirror"),
    Mutation("mirror/origins.py", "if about.origin.name != origin.name:", "if False:", "origins"),
    Mutation("mirror/folder.py", 'with filelock.FileLock(self._path / "writer.lock", timeout=0):', "if True:", "mirror"),
    Mutation("mirror/newest.py", 'pl.col("problem").is_null() & (', "(", "mirror"),
    Mutation("mirror/newest.py", "np.flatnonzero(~mask)", "np.flatnonzero(~mask)[1:]", "mirror"),
    Mutation("frames/labels.py", 'marks.append(pl.col("gone").is_not_null())', "pass", "engines"),
    Mutation("frames/labels.py", 'if schema.get("gone") == pl.String:', 'if "gone" in schema:', "labels"),
    Mutation("client/register.py", "weakref.finalize(self, sockets.close)", "pass", "http faults served"),
    Mutation("client/register.py", "weakref.finalize(self, sockets.close)", "weakref.finalize(self, self.close)", "register"),
    Mutation("charts/drawing.py", "register().invented", "False", "charts"),
    Mutation("protocol/split_walk.py", "if ends and highest > last:", "if False:", "split_walk"),
    Mutation("protocol/split_walk.py", "raise _contradiction(ask.query, self._segments[-1].frontier, int(ids[0]))", "return 0", "split_walk"),
    Mutation("protocol/split_walk.py", "del self._segments[self._segments.index(segment) + 1 :]", "pass", "split_walk"),
    Mutation("protocol/split_walk.py", "segment.done = segment.done and reached <= segment.frontier", "pass", "split_walk"),
    Mutation("protocol/split_walk.py", "2 * self._connections + _EXTRA * self._pages", "10**30", "split_walk"),
    Mutation("protocol/split_walk.py", "return min(start + int(ahead), MAX_ID)", "return start + int(ahead)", "split_walk"),
    Mutation("protocol/split_walk.py", "self._warned = True", "pass", "split_walk"),
    Mutation("progress.py", "if one.total is None and counted.done():", "if one.total is None:", "writing"),
    Mutation("protocol/replies.py", "set(map(type, ids)) - {int}", "False", "hostile_replies"),
    Mutation("protocol/replies.py", "except (TypeError, OverflowError) as error:", "except TypeError as error:", "hostile_replies"),
    Mutation("protocol/replies.py", "not 0 <= count <= MAX_ID", "count < 0", "writing"),
    Mutation("protocol/replies.py", "isinstance(value, list | dict)", "False", "hostile_replies"),
    Mutation("protocol/replies.py", "_MOST_OF_A_CODELIST: Final = 2_000_000", "_MOST_OF_A_CODELIST: Final = 10**9", "hostile_replies"),
    Mutation("protocol/replies.py", "_MOST_OF_A_CODELIST: Final = 2_000_000", "_MOST_OF_A_CODELIST: Final = 70_000", "hostile_replies"),
    Mutation("transport/threads.py", "pl.select(pl.lit(0))", "pass", "faults"),
    Mutation("client/records.py", "raise RecordsStopped(so_far) from stopped", "raise", "faults"),
    Mutation("client/scan.py", "if self._taken is not None:", "if False:", "scan"),
    Mutation("client/scan.py", "error.partial, error.cursor = rows, self._cursor", "pass", "scan faults"),
    Mutation("client/scan.py", "time.sleep(0)", "pass", "faults"),
    Mutation("transport/http.py", "if left_behind:", "if False:", "connections"),
    Mutation("transport/http.py", "if reply.status == 200 and self._repeats(", "if False and self._repeats(", "connections"),
    Mutation("transport/http.py", "former[0] == target or", "", "connections"),
    Mutation("transport/http.py", "self._connection.answered = None", "pass", "connections"),
    Mutation("transport/http.py", '[:1] == b"{"', '[:1] != b"?"', "report"),
    Mutation("transport/http.py", "_KEEP_ALIVE: Final = 50.0", "_KEEP_ALIVE: Final = 500.0", "connections"),
    Mutation("transport/http.py", "        forks.renew_in_child(self)\n", "", "connections"),
    Mutation("transport/http.py", "            connection.let_go()\n", "            pass\n", "connections"),
    Mutation("transport/exchange.py", "        forks.renew_in_child(self)\n", "", "connections"),
    Mutation("client/register.py", "        forks.renew_in_child(self)\n", "", "connections"),
    Mutation("client/current.py", "forks.in_child(_renew_lock)", "pass", "connections"),
    Mutation("transport/http.py", "bodies.unpacked if status == 200 else bodies.readable", "bodies.unpacked", "faults"),
    Mutation("transport/http.py", "        if good:\n            raise\n", "        raise\n", "faults patience"),
    Mutation("transport/http.py", "if not good and len(body) > bodies.ERROR_CAP:", "if len(body) > cap:", "patience"),
    Mutation("transport/bodies.py", "with contextlib.suppress(zlib.error):", "if True:", "faults"),
    Mutation("protocol/outcome.py", 'r"[0-9]+"', 'r"[0-9]{1,9}"', "faults"),
    Mutation("protocol/outcome.py", "min(float(value), _LONGEST_PAUSE)", "float(value)", "faults"),
    Mutation("transport/exchange.py", "min(now + self._deadline, started + TOTAL_SECONDS)", "now + self._deadline", "patience"),
    Mutation("transport/exchange.py", "self._note(target, reply.status, wire, attempt, good=True)\n            error.url", "self._note(target, reply.status, wire, attempt, good=False)\n            error.url", "patience"),
    Mutation("transport/exchange.py", "pressing=isinstance(error, TimedOut)", "pressing=False", "patience"),
    Mutation("protocol/outcome.py", "body[:_WORDS_OF]", "body", "faults"),
    Mutation("transport/exchange.py", "stats.first_reply or (now if good else None)", "now if good else None", "patience"),
    Mutation("transport/http.py", "and not isinstance(cause, ssl.SSLEOFError)", "", "patience"),
    Mutation("client/sample.py", "if self.recipe is None or self._again is None:", "if self._again is None:", "pickling"),
    Mutation("client/register.py", "            deadline=self._deadline,\n", "", "pickling"),
    Mutation("client/register.py", "            rate=self.rate,\n", "", "pickling"),
    Mutation("mirror/mirror.py", "(self.path.absolute(),)", "(self.path,)", "pickling"),
    Mutation("frames/labels.py", "return pl.nth(schema.names().index(name))", "return pl.col(name)", "labels"),
    Mutation("frames/labels.py", "itself = pl.nth(place)", "itself = pl.col(existing)", "labels"),
    Mutation("frames/labels.py", 'column.alias("code").map_batches(', "column.map_batches(", "labels"),
    Mutation("frames/labels.py", "isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum)", "dtype in (pl.String, pl.Null, pl.Categorical, pl.Enum)", "labels"),
    Mutation("frames/labels.py", "return found[0] if len(found) == 1 else None", "return found[0] if found else None", "labels"),
    Mutation("frames/labels.py", "return guess if guess in set(known) else None", "return guess", "labels"),
    Mutation("protocol/old_codes.py", "if not _OLD_DISTRICT.fullmatch(old):", "if not old.isdecimal() or len(old) != 3 or old[0] in '09':", "labels"),
    Mutation("protocol/old_codes.py", "if 0 < place < len(_BASE36) else None", "if place < len(_BASE36) else None", "labels"),
    Mutation("protocol/old_codes.py", "if 0 < place < len(_BASE36) else None", "", "labels"),
    Mutation("protocol/old_codes.py", "not _NEW_DISTRICT.fullmatch(code) or", "", "labels"),
    Mutation("protocol/old_codes.py", "or code[:5] not in REGION_NUMBER", "", "labels"),
    Mutation("protocol/old_codes.py", 'if len(code) == 12 and code.startswith("SK") else None', "", "labels"),
    Mutation("arguments.py", 'series = value.alias("id")', "series = value", "register"),
    Mutation("frames/sheets.py", 'return _Rule(small, "0")', 'return _Rule(small, "#,##0")', "sheets"),
    Mutation("frames/sheets.py", "is_between(-_LARGEST, _LARGEST)", "is_not_null()", "sheets"),
    Mutation("frames/sheets.py", "_LARGEST: Final = 10**15 - 1", "_LARGEST: Final = 10**15", "sheets"),
    Mutation("frames/sheets.py", "x.is_finite()", "x.is_not_null()", "sheets"),
    Mutation("frames/sheets.py", "number.abs() < 10.0 ** (15 - dtype.scale)", "number.is_not_null()", "sheets"),
    Mutation("frames/sheets.py", "_FIRST_DAY: Final = date(1900, 3, 1)", "_FIRST_DAY: Final = date(1900, 1, 1)", "sheets"),
    Mutation("frames/sheets.py", "is_between(_FIRST_DAY, _LAST_DAY) & _in_milliseconds", "is_between(_FIRST_DAY, _LAST_DAY)", "sheets"),
    Mutation("frames/sheets.py", "if lengths[row] > _LONGEST_TEXT:", "if False:", "sheets"),
    Mutation("frames/sheets.py", r'+ texts.str.count_matches(r"[\x{10000}-\x{10FFFF}]")', "", "sheets"),
    Mutation("frames/sheets.py", "len({name.casefold() for name in names}) == len(names)", "True", "sheets"),
    Mutation("frames/sheets.py", "name.strip() and name.isprintable()", "name.strip()", "sheets"),
    Mutation("frames/sheets.py", "if frame.height > most:", "if False:", "sheets"),
    Mutation("frames/sheets.py", "- (2 if note is not None else 0)", "", "sheets"),
    Mutation("frames/sheets.py", "if frame.width > _MOST_COLUMNS:", "if False:", "sheets"),
    Mutation("frames/writing.py", "put = _prepared(frame, form, note=note)\n    with replaced(path) as file:", 'with path.open("wb") as file:\n        put = _prepared(frame, form, note=note)', "sheets writing"),
    Mutation("frames/writing.py", "part.unlink(missing_ok=True)", "pass", "writing"),
    Mutation("frames/writing.py", "(column.list.drop_nulls().list.len() != column.list.len()).any()", "False", "sheets"),
    Mutation("frames/writing.py", "_check_binary(name, values, form)", "pass", "sheets"),
    Mutation("frames/writing.py", 'frame[name].alias("x")', "frame[name]", "sheets"),
    Mutation("charts/tile_map.py", 'labels.column_of(schema, value)', "pl.col(value)", "charts"),
    Mutation("service/server.py", "range(0, len(data), _PART)", "range(0, len(data), 2**30)", "server"),
    Mutation("service/server.py", "self._await_request()\n            super().on_message_begin()", "super().on_message_begin()", "server"),
    Mutation("service/server.py", "if self.pipeline:  #", "if False:  #", "server"),
    Mutation("service/asgi.py", '.lower().removesuffix(".")', '.removesuffix(".")', "server"),
    Mutation("service/asgi.py", '.lower().removesuffix(".")', '.lower().rstrip(".")', "server"),
    Mutation("service/asgi.py", "_host(scope) in self._hosts", "_host(scope).startswith(tuple(self._hosts))", "server"),
    Mutation("cli/commands.py", 'return _harmless(f"{_table(frame)}\\n").encode()', 'return f"{_table(frame)}\\n".encode()', "terminal"),
    Mutation("cli/commands.py", "if sys.stdout.isatty() else data", "if False else data", "terminal"),
    Mutation("cli/commands.py", "if sys.stdout.isatty() else data", "", "terminal"),
    Mutation("cli/commands.py", "_harmless(told.getvalue())", "told.getvalue()", "terminal"),
    Mutation("cli/commands.py", '_harmless(f"Error: {error}")', 'f"Error: {error}"', "terminal"),
    Mutation("cli/commands.py", "_harmless(repr(copy))", "repr(copy)", "terminal"),
    Mutation("cli/commands.py", "form not in FORMATS or", "", "commands"),
    Mutation("protocol/outcome.py", 'c if c.isprintable() else " "', 'c if c >= " " else " "', "terminal"),
    Mutation("protocol/replies.py", "type(value) is not int or not 0 <= value <= MAX_ID", "type(value) is not int or value > MAX_ID", "replies"),
    Mutation("protocol/replies.py", "if type(value) is int and value >= 0:", "if type(value) is int:", "replies"),
    Mutation("client/records.py", "_MOST_REQUESTS if session.remote else math.inf", "math.inf", "writing"),
    Mutation("client/records.py", "_MOST_REQUESTS if session.remote else math.inf", "_MOST_REQUESTS", "writing"),
    Mutation("client/records.py", "if requests <= most:", "if requests < most:", "writing"),
    Mutation("client/records.py", "_MOST_REQUESTS: Final = 10_000", "_MOST_REQUESTS: Final = 10_001", "writing"),
    Mutation("client/register.py", "self.rate, not near)", "self.rate, False)", "writing"),
    Mutation("client/units.py", "refuse_long_work(unique.len(), session, max_requests)", "pass", "writing"),
    Mutation("client/units.py", "refuse_long_work(ids.height, session, max_requests)", "pass", "writing"),
    Mutation("client/units.py", "if needs.whole and most < math.inf:", "if False:", "writing"),
    Mutation("transport/exchange.py", "None if mark is None else shown(mark)", "mark and self.invented", "origins"),
    Mutation("client/sample.py", "reply._replace(headers=reply.headers | self._marks)", "reply", "origins"),
    Mutation("client/sample.py", 'identity += f"; codelists={_digest(store.codelists)}"', "pass", "origins"),
    Mutation("service/asgi.py", "{**reply.headers, **self.marks}", "reply.headers", "origins"),
    Mutation("service/server.py", "{**reply.headers, **app.marks}", "reply.headers", "origins"),
    Mutation("service/openapi.py", "wire.INVENTED: \"Invented\",", "", "openapi"),
    Mutation("mirror/origins.py", "session.remote and register.base_url != about.origin.register", "False", "origins"),
    Mutation("mirror/origins.py", "session.exchange.get(_SMALL)", "pass", "origins"),
    Mutation("mirror/origins.py", "if known and numbers - {origin.number}:", "if False:", "origins"),
    Mutation("mirror/origins.py", "if states and not known and not full:", "if False:", "origins"),
    Mutation("mirror/keeping.py", "if lost is not None or doubted:", "if lost is not None:", "origins"),
    Mutation("mirror/keeping.py", "if lost is not None or doubted:", "if doubted:", "edges"),
    Mutation("mirror/keeping.py", "if lost is not None and not full:", "if False:", "edges"),
    Mutation("mirror/keeping.py", "full = full or runs.height > completed.height == 0", "pass", "edges"),
    Mutation("mirror/keeping.py", "table.seal(doubted=True)", "pass", "edges"),
    Mutation("mirror/keeping.py", "table.seal(doubted=True)", "table.seal()", "edges"),
    Mutation("mirror/held.py", "if table.rows < least:\n                raise", "if False:\n                raise", "damage"),
    Mutation("mirror/held.py", "table.refresh(anew=True)  # it may", "pass  # it may", "edges"),
    Mutation("mirror/held.py", "min(table.rows, 1)", "0", "edges"),
    Mutation("mirror/held.py", "return runs[int(void[-1]) + 1 :] if len(void) else runs", "return runs.filter(pl.col(\"completed\").is_not_null())", "edges"),
    Mutation("mirror/tables.py", "if sealed is not None and commit < sealed.commit:", "if False:", "damage"),
    Mutation("mirror/tables.py", "broken = self.seals.broken_commit()", "broken = None", "damage"),
    Mutation("mirror/tables.py", "if not self.seals.fits(file):", "if False:", "damage"),
    Mutation("mirror/tables.py", "for file in self.lost_files():\n                raise", "for file in ():\n                raise", "damage edges"),
    Mutation("mirror/tables.py", "            return self._opened()\n        if", "            raise\n        if", "edges"),
    Mutation("mirror/tables.py", "except (DeltaError, pl.exceptions.PolarsError, OSError) as error:", "except ZeroDivisionError as error:", "edges"),
    Mutation("mirror/tables.py", "except (DeltaError, *UNREADABLE) as error:", "except ZeroDivisionError as error:", "damage"),
    Mutation("mirror/folder.py", "if number > FORMAT:", "if False:", "edges"),
    Mutation("mirror/folder.py", "if number == FORMAT and checksum != _checksum(said):", "if False:", "edges"),
    Mutation("mirror/folder.py", "if about is None and self.is_begun:", "if False:", "origins"),
    Mutation("mirror/folder.py", "suppress(OSError, ValueError, LookupError, TypeError)", "suppress(OSError, ValueError)", "edges"),
    Mutation("mirror/mirror.py", "self._given.absolute()", "self._given", "edges"),
    Mutation("mirror/mirror.py", "unfit = _UNFIT.search(whole)", "unfit = None", "edges"),
    Mutation("mirror/mirror.py", "known is None or known[0] != now or refresh", "known is None", "edges"),
    Mutation("mirror/mirror.py", "self._store is None or self._store[0] != now", "self._store is None or self._store[0][0] != now[0]", "edges"),
    Mutation("mirror/store.py", "+ 10**13", "+ 0", "edges"),
    Mutation("mirror/syncing.py", "                rows += self._given_up()\n", "", "edges"),
    Mutation("mirror/syncing.py", "if moves and isinstance(record,", "if isinstance(record,", "edges"),
    Mutation("transport/http.py", "        if limits.left() <= 0:\n            raise httpx.ReadTimeout", "        if False:\n            raise httpx.ReadTimeout", "any_transport"),
    Mutation("transport/http.py", "self._inner.close()\n\n\ndef adapted", "pass\n\n\ndef adapted", "any_transport"),
    Mutation("client/register.py", "            transport=self._transport,\n        )\n        return again", "        )\n        return again", "any_transport"),
    Mutation("client/current.py", "if chosen is not register:", "if True:", "current"),
    Mutation("client/current.py", "            chosen.close()", "            pass", "current"),
    Mutation("client/current.py", "            _current = former", "            pass", "current"),
    Mutation("protocol/outcome.py", "unclosed.add(kind)", "pass", "hostile_replies"),
    Mutation("mirror/mirror.py", 'if collection != "units":', "if False:", "mirror"),
    Mutation("mirror/tables.py", "            delta = self._delta\n            if", "            if anew:\n                self._delta = self._state = self._files = None\n            delta = self._delta\n            if", "edges"),
    Mutation("mirror/mirror.py", "verified(self._folder, Held(self.path),", "verified(self._folder, self._held,", "edges"),
    Mutation("mirror/syncing.py", "if news and self._version <= self._known.version:", "if False:", "edges"),
    Mutation("mirror/syncing.py", "full = full or not last[\"full\"]", "pass", "edges"),
    Mutation("mirror/keeping.py", "if lost is not None or doubted:", "if (lost is not None or doubted) and held.completed().height:", "edges"),
    Mutation("mirror/origins.py", 'state["full"] or state["run"] == 1', "True", "edges"),
    Mutation("mirror/keeping.py", "self._compare(about.changed_since, max_missing)", "pass", "origins"),
    Mutation("mirror/keeping.py", "held.belongs(before)", "pass", "origins"),
    Mutation("mirror/mirror.py", "self._held.belongs(about)", "pass", "origins"),
    Mutation("mirror/verifying.py", "held.foreign(about):", "():", "origins"),
]  # fmt: skip


def caught_by(mutation: Mutation, tree: Path) -> str | None:
    """Return the first test that fails under a mutation, None when none does."""
    path = tree / "finstat_kit" / mutation.file
    text = path.read_text(encoding="utf-8")
    if mutation.before not in text:
        raise SystemExit(f"{mutation.file} no longer has {mutation.before!r}: mend the table")
    path.write_text(text.replace(mutation.before, mutation.after), encoding="utf-8")
    try:
        seen = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
            + ["--hypothesis-profile=unshrunk"]
            + [
                str(next(Path(tree / "tests").rglob(f"test_{n}.py")))
                for n in mutation.tests.split()
            ],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"a test that does not end within {_PATIENCE} seconds"
    finally:
        path.write_text(text, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", seen.stdout, re.MULTILINE)
    return failed.group(1) if failed else None


def main() -> None:
    words = sys.argv[1:]
    chosen = [m for m in MUTATIONS if not words or any(w in " ".join(m) for w in words)]
    uncaught = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv*", ".hypothesis", ".*_cache")
        )
        for mutation in chosen:
            test = caught_by(mutation, tree)
            uncaught += test is None
            print(f"{mutation.file}: {mutation.before} -> {mutation.after}")
            print(f"    {'caught by ' + test if test else 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen)} mutations, {uncaught} not caught")
    sys.exit(min(uncaught, 1))


if __name__ == "__main__":
    main()
