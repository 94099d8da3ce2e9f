"""What was asked, what was answered, what it cost: one SQLite file a store, shared by worker processes and nights.

    OUT/llm/ledger.sqlite     answers by key, requests, batches, who asks what, open claims
    OUT/llm/requests/*.jsonl  what was sent, in the line format of the Batch API
    OUT/llm/answers/*.jsonl   what came back, raw, in the same format
    OUT/llm/owners/*.lock     one locked file a living process; the kernel frees the lock of a killed one

SQLite in WAL mode, and not append-only files: a request may be sent only if none of its pairs was answered or is being
asked by another process, and if the run's budget allows it; that takes a short exclusive transaction over shared
state. Every transaction is flushed to the disk before it returns, so an answer that was received is never lost. A
claim says that a request is out for a key: claims of a dead process are void, those of a batch or a file stand until
it is back.

Nothing here sends anything, and no key of a provider is ever written.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from verification_pipeline.checkers.llm.answers import Reading, Row, Usage
from verification_pipeline.errors import StoreError

T = TypeVar("T")

FORMAT = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (  -- the one current answer of a question; without a row: why it has none for good
    key TEXT PRIMARY KEY, request INTEGER NOT NULL, row TEXT, correct_sha256 TEXT, fault TEXT, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (  -- one sending; expected_cents is reserved until cents are known
    id INTEGER PRIMARY KEY, request_key TEXT NOT NULL, run TEXT NOT NULL, mode TEXT NOT NULL, model TEXT NOT NULL,
    owner TEXT, batch INTEGER, state TEXT NOT NULL, fault TEXT, tries INTEGER, sent_at REAL NOT NULL, done_at REAL,
    expected_cents REAL NOT NULL, cents REAL, input INTEGER, cached INTEGER, output INTEGER, reasoning INTEGER
);
CREATE INDEX IF NOT EXISTS requests_of_batch ON requests (batch, request_key) WHERE batch IS NOT NULL;
CREATE INDEX IF NOT EXISTS requests_open ON requests (owner) WHERE state = 'sent' AND batch IS NULL;
CREATE INDEX IF NOT EXISTS requests_of_run ON requests (run);
CREATE TABLE IF NOT EXISTS questions (  -- what a request asks; offered: label → hash of the other source's text
    request INTEGER NOT NULL, label TEXT NOT NULL, key TEXT NOT NULL, offered TEXT NOT NULL,
    PRIMARY KEY (request, label)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS askers (  -- for which documents, and how many of their pairs
    request INTEGER NOT NULL, key TEXT NOT NULL, document_key TEXT NOT NULL, pairs INTEGER NOT NULL,
    PRIMARY KEY (request, key, document_key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, request INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (  -- size of the last request that failed with this question
    key TEXT PRIMARY KEY, size INTEGER NOT NULL, fault TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, cents REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, fingerprint TEXT NOT NULL, file TEXT NOT NULL,
    tokens INTEGER NOT NULL, state TEXT NOT NULL, attempted_at REAL, provider_id TEXT, input_file_id TEXT, note TEXT,
    answer_format TEXT
);
CREATE TABLE IF NOT EXISTS imported (file TEXT NOT NULL, stamp TEXT NOT NULL, PRIMARY KEY (file, stamp));
CREATE TABLE IF NOT EXISTS formats (  -- how batches and files ask, where a stricter format was refused
    asking TEXT PRIMARY KEY, answer_format TEXT NOT NULL
) WITHOUT ROWID;
"""
_FROM = {0: "", 1: "ALTER TABLE batches ADD COLUMN answer_format TEXT;"}
"""What brings an older format's tables up to the schema, before what is missing is made."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored answer: a row, or the fault that is final until the question is asked again on purpose."""

    request_key: str
    row: Row | None
    correct_sha256: str | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class Sending:
    """A request about to be sent: its questions by label with what was offered, and the documents that ask."""

    request_key: str
    model: str
    keys: Mapping[str, str]
    """label → key"""
    offered: Mapping[str, Mapping[str, str]]
    """label → (source label → hash of that source's text)"""
    askers: Mapping[str, Mapping[str, int]]
    """key → (document_key → pairs)"""
    expected_cents: float


@dataclass(frozen=True, slots=True)
class Sent:
    """A sending that was entered. Nothing else may ask its keys until it comes back."""

    id: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A sending that was not entered: these keys are answered or asked already."""

    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A sending that was not entered: with it the run could cost more than allowed."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a sending. `reading` is None when nothing came back that could be read."""

    state: str
    reading: Reading | None = None
    usage: Usage = field(default_factory=Usage)
    cents: float | None = None
    fault: str | None = None
    tries: int = 1
    splits: bool = False
    """Whether the request itself may be to blame, so that its pairs are asked again in smaller ones."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many entries were dropped."""

    answers: int
    requests: int


class Ledger:
    """An open ledger. One a process; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.owner = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._guard = RLock()
        self._alive: FileLock | None = None
        try:
            for name in ("requests", "answers", "owners"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            with self._door():
                self._db = sqlite3.connect(
                    folder / "ledger.sqlite", timeout=60, isolation_level=None, check_same_thread=False
                )
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=FULL")
                (found,) = self._db.execute("PRAGMA user_version").fetchone()
                if found in _FROM:
                    script = f"BEGIN IMMEDIATE; {_FROM[found]} {_SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;"
                    self._db.executescript(script)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the ledger in {folder} cannot be opened: {error}") from error
        if found not in (*_FROM, FORMAT):
            raise StoreError(f"the ledger in {folder} has format {found}; this version reads format {FORMAT}")

    def close(self) -> None:
        """Close the file and say that this process asks no more."""
        with self._guard:
            with self._door():
                self._db.close()
            if self._alive is not None:
                self._alive.release()
                Path(self._alive.lock_file).unlink(missing_ok=True)
                self._alive = None

    def _door(self) -> FileLock:
        """Held while opening and closing: SQLite does not wait for others that turn its log on or clear it away."""
        return FileLock(self.folder / "ledger.lock")

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- transactions

    def together(self, writes: Sequence[Callable[[], T]]) -> list[T]:
        """Do several writes in one transaction: all of them are on the disk when it returns, or none is."""
        with self._transaction():
            return [write() for write in writes]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard:
            if self._db.in_transaction:
                yield
                return
            with self._named():
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"the ledger in {self.folder} fails: {error}") from error

    def _rows(self, sql: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a statement with `IN (?)` over any number of keys."""
        keys = list(keys)
        with self._guard, self._named():
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                yield from self._db.execute(sql.replace("(?)", f"({','.join('?' * len(part))})"), part).fetchall()

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of a statement that only reads."""
        with self._guard, self._named():
            return self._db.execute(sql, values).fetchall()

    # ---- questions

    def answers(self, keys: Iterable[str]) -> dict[str, Answer]:
        """The current answers of these questions."""
        sql = (
            "SELECT a.key, r.request_key, a.row, a.correct_sha256, a.fault FROM answers a JOIN requests r"
            " ON r.id = a.request WHERE a.key IN (?)"
        )
        return {
            key: Answer(request, None if row is None else Row.model_validate_json(row), correct, fault)
            for key, request, row, correct, fault in self._rows(sql, keys)
        }

    def answered(self, keys: Iterable[str]) -> set[str]:
        """Those of these questions that have a current answer."""
        return {key for (key,) in self._rows("SELECT key FROM answers WHERE key IN (?)", keys)}

    def sizes(self, keys: Iterable[str]) -> dict[str, int]:
        """For questions that failed: the largest request that may hold them now."""
        found = self._rows("SELECT key, size FROM failures WHERE key IN (?)", keys)
        return {key: (size + 1) // 2 for key, size in found}

    def pending(self, keys: Iterable[str]) -> dict[str, str]:
        """Questions that a batch or a file is out for, with the key of its request."""
        sql = (
            "SELECT c.key, r.request_key FROM claims c JOIN requests r ON r.id = c.request"
            " WHERE r.batch IS NOT NULL AND c.key IN (?)"
        )
        return dict(self._rows(sql, keys))

    def claimed(self, keys: Iterable[str]) -> set[str]:
        """Questions that another living process is asking at this moment."""
        return {key for key, owner in self._claims(keys) if self._lives(owner)}

    def forget(self, keys: Collection[str], before: float) -> None:
        """Drop answers and failures recorded before a moment: these questions are to be asked again on purpose."""
        with self._transaction():
            for key in keys:
                gone = self._db.execute("DELETE FROM answers WHERE key = ? AND at < ?", (key, before)).rowcount
                if gone:
                    self._db.execute("DELETE FROM failures WHERE key = ?", (key,))

    def prune(self, kept: Iterable[str], before: float) -> Pruned:
        """Drop what no kept verdict refers to: answers and sendings that came back before a moment.

        `kept` are the request keys of all verdicts and receipts that stay, `before` seconds since the epoch. What is
        out stays, whatever its age. A pair whose answer is dropped is asked, and paid, again when it comes back; what
        each run cost in all stays known, by request and document it does not. Files beside the ledger are not touched.
        """
        with self._transaction():
            self._db.execute("CREATE TEMP TABLE kept (request_key TEXT PRIMARY KEY) WITHOUT ROWID")
            self._db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((key,) for key in kept))
            old = (
                "SELECT id FROM requests WHERE state <> 'sent' AND done_at < ?"
                " AND request_key NOT IN (SELECT request_key FROM kept)"
            )
            sql = f"DELETE FROM answers WHERE at < ? AND request IN ({old})"  # noqa: S608
            answers = self._db.execute(sql, (before, before)).rowcount
            sql = f"DELETE FROM requests WHERE id IN ({old}) AND id NOT IN (SELECT request FROM answers)"  # noqa: S608
            requests = self._db.execute(sql, (before,)).rowcount
            self._db.execute("DELETE FROM questions WHERE request NOT IN (SELECT id FROM requests)")
            self._db.execute("DELETE FROM askers WHERE request NOT IN (SELECT id FROM requests)")
            self._db.execute("DELETE FROM failures WHERE key NOT IN (SELECT key FROM questions)")
            self._db.execute(
                "DELETE FROM batches WHERE state IN ('collected', 'failed')"
                " AND id NOT IN (SELECT batch FROM requests WHERE batch IS NOT NULL)"
            )
            self._db.execute("DROP TABLE kept")
            return Pruned(answers, requests)

    # ---- sendings

    def begin(
        self, sending: Sending, *, run: str, mode: str, now: float, budget: float | None, batch: int | None = None
    ) -> Sent | Taken | OverBudget:
        """Enter a sending, claim its keys and reserve its money, unless something stands against it."""
        keys = list(sending.keys.values())
        with self._transaction():
            taken = self.answered(keys)
            taken |= {key for key, owner in self._claims(keys) if owner is None or self._lives(owner)}
            if taken:
                return Taken(frozenset(taken))
            (spent,) = self._db.execute("SELECT COALESCE(SUM(cents), 0) FROM runs WHERE run = ?", (run,)).fetchone()
            if budget is not None and spent + sending.expected_cents > budget:
                return OverBudget()
            owner = self._owner() if batch is None else None
            request = self._db.execute(
                "INSERT INTO requests (request_key, run, mode, model, owner, batch, state, sent_at, expected_cents)"
                " VALUES (?, ?, ?, ?, ?, ?, 'sent', ?, ?) RETURNING id",
                (sending.request_key, run, mode, sending.model, owner, batch, now, sending.expected_cents),
            ).fetchone()[0]
            self._pay(run, sending.expected_cents)
            self._db.executemany(
                "INSERT INTO questions VALUES (?, ?, ?, ?)",
                [(request, label, key, json.dumps(sending.offered[label])) for label, key in sending.keys.items()],
            )
            self._db.executemany(
                "INSERT INTO askers VALUES (?, ?, ?, ?)",
                [(request, key, who, n) for key in keys for who, n in sorted(sending.askers[key].items())],
            )
            self._db.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", [(key, request) for key in keys])
            return Sent(request)

    def asked(self, request: int) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """What a sending asks: label → key, and label → what was offered with it."""
        found = self.read("SELECT label, key, offered FROM questions WHERE request = ?", request)
        keys = {label: key for label, key, _ in found}
        return keys, {label: json.loads(offered) for label, _, offered in found}

    def finish(self, request: int, result: Result, now: float) -> dict[str, str]:
        """Enter what came of a sending; the faults of the pairs that have to be asked again, by key.

        Nothing is entered twice: a sending that is finished stays as it is.
        """
        with self._transaction():
            run, state, expected = self._db.execute(
                "SELECT run, state, expected_cents FROM requests WHERE id = ?", (request,)
            ).fetchone()
            if state not in ("sent", "lost"):
                return {}
            keys, offered = self.asked(request)
            usage = result.usage
            counts = (usage.input, usage.cached, usage.output, usage.reasoning)
            self._db.execute(
                "UPDATE requests SET state = ?, fault = ?, tries = ?, done_at = ?, cents = ?, input = ?, cached = ?,"
                " output = ?, reasoning = ? WHERE id = ?",
                (result.state, result.fault, result.tries, now, result.cents, *counts, request),
            )
            self._pay(run, (result.cents or 0.0) - expected)
            self._release(keys.values(), request)
            rows = result.reading.rows if result.reading else {}
            for label, row in rows.items():
                correct = offered[label].get(row.correct_source or "")
                self._answer(keys[label], request, now, row=row, correct=correct)
            if result.reading is None and not result.splits:
                return {}
            faults = result.reading.faults if result.reading else dict.fromkeys(keys, result.fault or "failed")
            final = len(keys) == 1 and result.reading is not None
            for label, fault in faults.items():
                self._failed(keys[label], request, len(keys), fault, now, final=final)
            return {keys[label]: fault for label, fault in faults.items()}

    def refuse(self, key: str, request: int, fault: str, now: float) -> None:
        """Enter that a question has no answer for good."""
        with self._transaction():
            self._answer(key, request, now, fault=fault)

    def release_lost(self, now: float) -> int:
        """Void the sendings of dead processes; how many there were. What they may have cost stays counted."""
        with self._transaction():
            found = self._db.execute(
                "SELECT DISTINCT owner FROM requests WHERE state = 'sent' AND batch IS NULL"
            ).fetchall()
            dead = [owner for (owner,) in found if not self._lives(owner)]
            gone = 0
            for owner in dead:
                rows = self._db.execute(
                    "UPDATE requests SET state = 'lost', done_at = ? WHERE state = 'sent' AND owner = ? RETURNING id",
                    (now, owner),
                ).fetchall()
                for (request,) in rows:
                    self._release(self.asked(request)[0].values(), request)
                gone += len(rows)
            return gone

    def release_batch(self, batch: int, state: str, fault: str | None, now: float) -> int:
        """Void what is left of a batch: its open sendings cost nothing and their questions may be asked again."""
        with self._transaction():
            rows = self._db.execute("SELECT id FROM requests WHERE batch = ? AND state = 'sent'", (batch,)).fetchall()
            for (request,) in rows:
                self.finish(int(request), Result(state, fault=fault, cents=0.0), now)
            return len(rows)

    # ---- batches: what they mean is the business of `batch` and `offline`

    def add_batch(self, kind: str) -> int:
        """Enter a batch that is being put together."""
        with self._transaction():
            sql = "INSERT INTO batches (kind, fingerprint, file, tokens, state) VALUES (?, '', '', 0, 'entering')"
            return int(self._db.execute(f"{sql} RETURNING id", (kind,)).fetchone()[0])

    def update_batch(self, batch: int, **values: object) -> None:
        """Set columns of a batch."""
        with self._transaction():
            columns = ", ".join(f"{name} = ?" for name in values)
            self._db.execute(f"UPDATE batches SET {columns} WHERE id = ?", (*values.values(), batch))  # noqa: S608

    def answer_format(self, asking: str) -> str | None:
        """The format that is left after refusals of stricter ones; None where none was refused."""
        found = self.read("SELECT answer_format FROM formats WHERE asking = ?", asking)
        return str(found[0][0]) if found else None

    def use_format(self, asking: str, answer_format: str) -> None:
        """Enter the format that batches and files are to ask in from now on."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO formats VALUES (?, ?)", (asking, answer_format))

    def open_requests(self, batch: int | None) -> dict[str, int]:
        """Sendings of one batch (of all files, without one) that have not come back: request_key → id."""
        sql = "SELECT request_key, id FROM requests WHERE state = 'sent' AND {} ORDER BY id"
        if batch is None:
            found = self.read(sql.format("batch IN (SELECT id FROM batches WHERE kind = 'offline')"))
        else:
            found = self.read(sql.format("batch = ?"), batch)
        return dict(found)

    def imported(self, file: str, stamp: str) -> bool:
        """Whether a file of answers was read as it is (the stamp is its size and time)."""
        return bool(self.read("SELECT 1 FROM imported WHERE file = ? AND stamp = ?", file, stamp))

    def mark_imported(self, file: str, stamp: str) -> None:
        """Enter that a file of answers was read as it is."""
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO imported VALUES (?, ?)", (file, stamp))

    # ---- small parts

    def _answer(self, key: str, request: int, now: float, *, row: Row | None = None, correct: str | None = None,
                fault: str | None = None) -> None:  # fmt: skip
        text = None if row is None else row.model_dump_json()
        self._db.execute(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", (key, request, text, correct, fault, now)
        )
        self._db.execute("DELETE FROM failures WHERE key = ?", (key,))

    def _failed(self, key: str, request: int, size: int, fault: str, now: float, *, final: bool) -> None:
        if final:
            self._answer(key, request, now, fault=fault)
        else:
            self._db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", (key, size, fault))

    def _release(self, keys: Iterable[str], request: int) -> None:
        """Void the claims of a sending; by key, for a batch holds a million claims."""
        self._db.executemany("DELETE FROM claims WHERE key = ? AND request = ?", [(key, request) for key in keys])

    def _pay(self, run: str, cents: float) -> None:
        self._db.execute(
            "INSERT INTO runs VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET cents = cents + excluded.cents",
            (run, cents),
        )

    def _claims(self, keys: Iterable[str]) -> list[tuple[str, str | None]]:
        sql = "SELECT c.key, r.owner FROM claims c JOIN requests r ON r.id = c.request WHERE c.key IN (?)"
        return list(self._rows(sql, keys))

    def _owner(self) -> str:
        """This process's name in claims; taken out with its lock file."""
        if self._alive is None:
            lock = FileLock(self.folder / "owners" / f"{self.owner}.lock")
            lock.acquire(timeout=0)
            self._alive = lock
        return self.owner

    def _lives(self, owner: str | None) -> bool:
        if owner is None or owner == self.owner:
            return owner is not None
        path = self.folder / "owners" / f"{owner}.lock"
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        path.unlink(missing_ok=True)
        return False
