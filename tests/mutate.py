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
    Mutation("walk.py", "ids[0] <= query.after_id", "False", "walk client"),
    Mutation("walk.py", "ids[0] <= query.after_id", "ids[0] < query.after_id", "walk client"),
    Mutation("walk.py", "ids[1:] > ids[:-1]", "ids[1:] >= ids[:-1]", "walk"),
    Mutation("walk.py", "if not page.more:", "if page.more:", "walk client"),
    Mutation("walk.py", "int(page.ids[-1])", "int(page.ids[0])", "walk client"),
    Mutation("collection.py", "check(query, page, seen)", "pass", "client"),
    Mutation("pages.py", "error.cursor = self.cursor", "pass", "client"),
    Mutation("embedded/store.py", "len(ids) > size", "len(ids) >= size", "service"),
    Mutation("embedded/store.py", "return len(self.ids) - start", "return len(self.ids)", "service"),
    Mutation("embedded/store.py", "self.changed[rows] >= since", "self.changed[rows] > since", "service"),
    Mutation("embedded/service.py", "and not len(ids)", "and len(ids)", "service"),
    Mutation("embedded/service.py", "if name in self._values:", "if False:", "service"),
    Mutation("labels.py", 'name = f"name_{checked_lang(lang)}"', 'name = "name_sk"', "labels"),
    Mutation("labels.py", "if existing not in label_columns:", "if True:", "labels"),
    Mutation("labels.py", ".when(pl.col(\"code\").is_null())", ".when(pl.lit(False))", "labels"),
    Mutation("replies.py", "if type(more) is not bool:", "if False:", "walk"),
    Mutation("replies.py", "if doubtful and", "if False and", "walk"),
    Mutation("cli.py", "left = left[sys.stdout.buffer.write(left) :]", "sys.stdout.buffer.write(left); break", "cli"),
    Mutation("cli.py", "with _uninterrupted():", "if True:", "cli"),
    Mutation("http.py", "if not unpacker.eof or unpacker.unused_data:", "if False:", "faults"),
    Mutation("http.py", "if len(body) > cap:", "if False:", "faults"),
    Mutation("http.py", "min(left, _LOOK_UP)", "timeout", "faults"),
    Mutation("exchange.py", "self._failures >= _FAILURES_IN_A_ROW", "False", "faults"),
    Mutation("exchange.py", "max(now, self._next_slot, self._pause_until)", "max(now, self._next_slot)", "faults"),
    Mutation("fetch.py", "stop.set()", "pass", "faults"),
    Mutation("scan.py", "if predicate is not None and n_rows is None:", "if predicate is not None:", "scan"),
    Mutation("scan.py", "rows = frame if predicate is None else frame.filter(predicate)", "rows = frame", "scan"),
    Mutation("replies.py", 'reply.get("id") != asked', "False", "client"),
    Mutation("replies.py", "json.dumps(reply, ensure_ascii=False).encode()", "pass", "broken_replies"),
    Mutation("replies.py", "if len(found) < len(pairs):", "if False:", "walk client"),
    Mutation("split.py", "segment.limit is None or last < segment.limit", "True", "split"),
    Mutation("split.py", 'ids[low:high]', "ids[low:]", "split"),
    Mutation("split.py", 'if not segment.done:\n                break', "pass", "split"),
    Mutation("split.py", "self._spent < self._spare", "True", "split"),
    Mutation("collection.py", "check(query, page, seen)", "pass", "split"),
    Mutation("fetch.py", "if pressure() > pressed:", "if False:", "split"),
    Mutation("exchange.py", '[:1] == b"<"', '[:1] == b"?"', "client"),
    Mutation("charts.py", "for kind in labels.KINDS[1:]", "for kind in ()", "charts"),
    Mutation("charts.py", "labelled.slice(top)", "labelled.slice(top + 1)", "charts"),
    Mutation("stacks.py", "labelled & ~pl.col", "labelled & pl.col", "charts"),
    Mutation("canvas.py", "if seen[label] > 1", "if False", "charts"),
    Mutation("canvas.py", '.replace("$", r"\\$")', "", "charts"),
    Mutation("tilemaps.py", "table.filter(~tiled)", "table.head(0)", "charts"),
    Mutation("tilemaps.py", "ordered.index(value)", "0", "charts"),
    Mutation("widgets/location.py", "if control.options != options:", "if not control.options[1:]:", "widgets"),
    Mutation("widgets/choices.py", 'self.name_sk if lang == "sk" else self.name_en', "self.name_sk", "widgets"),
    Mutation("tiles.py", "   .  0216 0223", " 0216   .  0223", "charts"),
    Mutation("health.py", "_parsed(partial(parse, body))", "pass", "doctor"),
    Mutation("health.py", "not ids and more is False", "True", "doctor"),
    Mutation("health.py", "shown(line.seen)", "line.seen", "doctor"),
    Mutation("health.py", "0 <= id_ <= replies.MAX_ID", "True", "doctor"),
    Mutation("patient.py", "if reply.status != 200:", "if False:", "doctor"),
    Mutation("patient.py", "if reply.status in _ASKS_FOR_PEACE or", "if", "doctor"),
    Mutation("patient.py", 'or (reply.status != 200 and "retry-after" in headers)', "", "doctor"),
    Mutation("patient.py", "self._bad == _SILENCE", "False", "doctor"),
    Mutation("patient.py", "self._unanswered == _SILENCE", "False", "doctor"),
    Mutation("patient.py", "self._second_tries -= 1", "pass", "doctor"),
    Mutation("patient.py", "            if not self._second_tries:\n                raise\n", "            raise\n", "doctor"),
    Mutation("registers.py", 'host.encode("idna")', "pass", "client"),
    Mutation("embedded/files.py", "if folder is not None and not given:", "if False:", "sample"),
    Mutation("health.py", "if any(odd.values()):", "if False:", "doctor"),
    Mutation("health.py", "a < b for a, b", "True for a, b", "doctor"),
    Mutation("health.py", "before - len(ids) == after", "True", "doctor"),
    Mutation("health.py", "if not patient.seconds:", "if False:", "doctor"),
    Mutation("embedded/rules.py", r"(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?", r"(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?", "served"),
    Mutation("embedded/rules.py", '_DIGITS: Final = re.compile(r"[0-9]{1,100}")', '_DIGITS: Final = re.compile(r"\\d{1,100}")', "served"),
    Mutation("embedded/rules.py", '_DIGITS: Final = re.compile(r"[0-9]{1,100}")', '_DIGITS: Final = re.compile(r"[0-9]{1,200}")', "served"),
    Mutation("embedded/rules.py", "1, MAX_SIZE, cut=True", "0, MAX_SIZE, cut=True", "served"),
    Mutation("embedded/rules.py", "0, MAX_ID)", "0, MAX_ID + 1)", "served"),
    Mutation("embedded/rules.py", "MAX_QUERY: Final = 8_192", "MAX_QUERY: Final = 8_193", "served"),
    Mutation("embedded/rules.py", "MAX_PARAMETERS: Final = 100", "MAX_PARAMETERS: Final = 101", "served"),
    Mutation("embedded/rules.py", "PAGING | FILTERS if name == UNITS else PAGING", "PAGING | FILTERS", "description"),
    Mutation("embedded/service.py", "if self.strict or not rule.cut:", "if not rule.cut:", "served"),
    Mutation("embedded/service.py", "if self.strict and self._values:", "if False:", "service"),
    Mutation("embedded/service.py", "pattern.fullmatch(value)", "pattern.match(value)", "served"),
    Mutation("embedded/service.py", "except UnicodeError:", "except UnicodeDecodeError:", "service"),
    Mutation("embedded/service.py", "if _BROKEN_ESCAPE.search(text):", "if False:", "service"),
    Mutation("embedded/service.py", 'store.columns["state"], 0)', 'store.columns["state"], 1)', "service"),
    Mutation("embedded/service.py", 'html.escape("".join(c if c.isprintable() else "?" for c in text[:100]))', 'text', "served"),
    Mutation("embedded/service.py", 'b"" if method == "HEAD" else body', "body", "served"),
    Mutation("embedded/service.py", 'reply.headers | {"Allow": "GET, HEAD"}', "reply.headers", "served"),
    Mutation("embedded/service.py", "_ROUTES.get(path)", '_ROUTES.get(path.rstrip("/"))', "served"),
    Mutation("embedded/description.py", 'if strict else {"id"}', 'if False else {"id"}', "description"),
    Mutation("embedded/description.py", "if strict or not rule.cut:", "if True:", "description"),
    Mutation("embedded/description.py", '{"format": "date"}, text', '{}, text', "contract"),
    Mutation("embedded/description.py", 'absent={"id"}', "absent=set()", "contract"),
    Mutation("embedded/description.py", 'if status == "405":', "if True:", "contract"),
    Mutation("embedded/server.py", "self.loop.call_later(_LINGER, self.transport.close)", "self.transport.close()", "http"),
    Mutation("embedded/server.py", "            if self._refused:\n                return\n", "", "http"),
    Mutation("embedded/server.py", "if self._unread > _MOST_UNREAD:", "if False:", "http"),
    Mutation("embedded/server.py", "def send_400_response", "def send_400_other", "http"),
    Mutation("embedded/asgi.py", 'scope["query_string"].decode("ascii", errors="surrogateescape")', 'scope["query_string"].decode("latin-1")', "http"),
    Mutation("registers.py", 'if isinstance(base_url, str) and "@" in', 'if False and "@" in', "security"),
    Mutation("transports.py", 'c if c.isprintable() else "?"', "c", "security"),
    Mutation("embedded/population.py", "allow_pickle=False", "allow_pickle=True", "security"),
    Mutation("writing.py", '"strings_to_formulas": False', '"strings_to_formulas": True', "writing"),
    Mutation("widgets/base.py", 'f"{escape(cell)}{close_cell}"', 'f"{cell}{close_cell}"', "widgets"),
    Mutation("embedded/asgi.py", "_host(scope) in self._hosts", "True", "http"),
    Mutation("exchange.py", "if 300 <= status < 400:", "if False:", "faults"),
    Mutation("pages.py", "int(ids[-1]) if ids.len()", "int(ids[0]) if ids.len()", "stateful"),
    Mutation("pages.py", "self._query = following or", "self._query =", "stateful"),
    Mutation("walk.py", "if not page.more:", "if not page.more or len(page.ids) < query.page_size:", "stateful"),
    Mutation("split.py", "if not page.more or not", "if len(ids) < ask.query.page_size or not", "stateful"),
    Mutation("split.py", "if not segment.done:\n                break", "pass", "stateful"),
    Mutation("collection.py", "error.partial, error.cursor = came()", "error.partial, error.cursor = came()[0], 0", "stateful"),
    Mutation("exchange.py", "+ 1 / self._rate", "+ 0", "load"),
    Mutation("exchange.py", "if turn is None or turn < self._pause_until:", "if turn is None:", "load"),
    Mutation("embedded/server.py", "self._timer = self.loop.call_later(patience, self.transport.close)", "pass", "load"),
    Mutation("exchange.py", "if isinstance(error, FinalTransportError):", "if False:", "faults"),
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
    Mutation("mirror/local.py", 'if name and f"zmenene-od={checks.BEGINNING}" not in query:', "if False:", "mirror"),
    Mutation("mirror/local.py", 'pl.col("completed") <= day', 'pl.col("completed") < day', "mirror"),
    Mutation("mirror/codelists.py", "if before and not lists[name]:", "if False:", "mirror"),
    Mutation("mirror/sealed.py", "sha256(body).hexdigest().encode() != checksum", "False", "mirror"),
    Mutation("mirror/verifying.py", "checksums.get(file.name, checksum) == checksum", "True", "mirror"),
    Mutation("mirror/origins.py", "if about.origin.name != origin.name:", "if False:", "mirror_origins"),
    Mutation("mirror/folder.py", 'with filelock.FileLock(self._path / "writer.lock", timeout=0):', "if True:", "mirror"),
    Mutation("mirror/reading.py", 'pl.col("problem").is_null() & (', "(", "mirror"),
    Mutation("mirror/reading.py", "np.flatnonzero(~mask)", "np.flatnonzero(~mask)[1:]", "mirror"),
    Mutation("labels.py", 'marks.append(pl.col("gone").is_not_null())', "pass", "mirror_engines"),
    Mutation("labels.py", 'if schema.get("gone") == pl.String:', 'if "gone" in schema:', "labels"),
    Mutation("registers.py", "weakref.finalize(self, sockets.close)", "pass", "http faults served"),
    Mutation("registers.py", "weakref.finalize(self, sockets.close)", "weakref.finalize(self, self.close)", "client"),
    Mutation("canvas.py", "register().invented", "False", "charts"),
    Mutation("exchange.py", "None if mark is None else shown(mark)", "mark and self.invented", "mirror_origins"),
    Mutation("samples.py", "reply._replace(headers=reply.headers | self._marks)", "reply", "mirror_origins"),
    Mutation("samples.py", 'identity += f"; codelists={_digest(store.codelists)}"', "pass", "mirror_origins"),
    Mutation("embedded/asgi.py", "{**reply.headers, **self.marks}", "reply.headers", "mirror_origins"),
    Mutation("embedded/server.py", "{**reply.headers, **app.marks}", "reply.headers", "mirror_origins"),
    Mutation("embedded/description.py", "rules.INVENTED: \"Invented\",", "", "description"),
    Mutation("mirror/origins.py", "register.remote and register.base_url != about.origin.register", "False", "mirror_origins"),
    Mutation("mirror/origins.py", "register.exchange.get(_SMALL, {}, lambda body: None)", "pass", "mirror_origins"),
    Mutation("mirror/origins.py", "if known and numbers - {origin.number}:", "if False:", "mirror_origins"),
    Mutation("mirror/origins.py", "if states and not known and not full:", "if False:", "mirror_origins"),
    Mutation("mirror/keeping.py", "(lost is not None or doubted) and", "lost is not None and", "mirror_origins"),
    Mutation("mirror/keeping.py", "(lost is not None or doubted) and", "doubted and", "mirror_edges"),
    Mutation("mirror/keeping.py", "if lost is not None and not full:", "if False:", "mirror_edges"),
    Mutation("mirror/keeping.py", "full = full or runs.height > completed.height == 0", "pass", "mirror_edges"),
    Mutation("mirror/keeping.py", "table.seal(doubted=True)", "pass", "mirror_edges"),
    Mutation("mirror/keeping.py", "table.seal(doubted=True)", "table.seal()", "mirror_edges"),
    Mutation("mirror/held.py", "if table.rows < least:\n                raise", "if False:\n                raise", "mirror_damage"),
    Mutation("mirror/held.py", "table.refresh(anew=True)  # it may", "pass  # it may", "mirror_edges"),
    Mutation("mirror/held.py", "min(table.rows, 1)", "0", "mirror_edges"),
    Mutation("mirror/held.py", "return runs[int(void[-1]) + 1 :] if len(void) else runs", "return runs.filter(pl.col(\"completed\").is_not_null())", "mirror_edges"),
    Mutation("mirror/tables.py", "if sealed is not None and self.commit < sealed.commit:", "if False:", "mirror_damage"),
    Mutation("mirror/tables.py", "broken = self.seals.broken_commit()", "broken = None", "mirror_damage"),
    Mutation("mirror/tables.py", "if not self.seals.fits(file):", "if False:", "mirror_damage"),
    Mutation("mirror/tables.py", "for file in self.lost_files():\n                raise", "for file in ():\n                raise", "mirror_damage mirror_edges"),
    Mutation("mirror/tables.py", "            self._delta = None\n            self._open()", "            raise", "mirror_edges"),
    Mutation("mirror/tables.py", "except (DeltaError, pl.exceptions.PolarsError, OSError) as error:", "except ZeroDivisionError as error:", "mirror_edges"),
    Mutation("mirror/tables.py", "except (DeltaError, *UNREADABLE) as error:", "except ZeroDivisionError as error:", "mirror_damage"),
    Mutation("mirror/folder.py", "if number > FORMAT:", "if False:", "mirror_edges"),
    Mutation("mirror/folder.py", "if number == FORMAT and checksum != _checksum(said):", "if False:", "mirror_edges"),
    Mutation("mirror/folder.py", "if about is None and self.is_begun:", "if False:", "mirror_origins"),
    Mutation("mirror/folder.py", "suppress(OSError, ValueError, LookupError, TypeError)", "suppress(OSError, ValueError)", "mirror_edges"),
    Mutation("mirror/local.py", "self._given.absolute()", "self._given", "mirror_edges"),
    Mutation("mirror/local.py", "unfit = _UNFIT.search(whole)", "unfit = None", "mirror_edges"),
    Mutation("mirror/local.py", "known is None or known[0] != now or refresh", "known is None", "mirror_edges"),
    Mutation("mirror/local.py", "self._store is None or self._store[0] != now", "self._store is None or self._store[0][0] != now[0]", "mirror_edges"),
    Mutation("mirror/copied.py", "+ 10**13", "+ 0", "mirror_edges"),
    Mutation("mirror/syncing.py", "                rows += self._given_up()\n", "", "mirror_edges"),
    Mutation("mirror/syncing.py", "if moves and isinstance(record,", "if isinstance(record,", "mirror_edges"),
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
            + [f"tests/test_{name}.py" for name in mutation.tests.split()],
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
