"""The Batch API: hand in, leave, collect later. A batch is paid once, whatever is killed and whenever.

Order of events: the batch and its requests are entered in the ledger, its input file is written, the file is uploaded,
the batch is created with its ledger entry in the metadata. A creation whose answer was lost is looked up among the
provider's batches by that metadata; while the look-up fails, or the creation is too young to be listed for sure,
nothing is created. One process at a time talks about batches (a lock beside the ledger).

    questions ─ submit ─▶ entering ─▶ intent ─▶ attempted ─▶ created ─ advance ─▶ collected | failed

`advance` may be called at any time and from anywhere (a sensor, an asset, the next run): it takes every batch as far as
it goes. What is left open when a batch is over (expired, cancelled, missing rows) is free to be asked again; where the
server refused the answer's format, in the next format of `FORMATS`, from then on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson
from filelock import FileLock
from openai import APIError, APIStatusError, OpenAI
from openai.types import Batch

from verification_pipeline.checkers.llm.client import refuses_format, tls
from verification_pipeline.checkers.llm.credentials import Secret, key_of
from verification_pipeline.checkers.llm.ledger import Ledger, OverBudget, Result, Sent, Taken
from verification_pipeline.checkers.llm.online import Job, Left, completed, sending_of
from verification_pipeline.checkers.llm.questions import Question, asking
from verification_pipeline.checkers.llm.requests import FORMATS, Request, line
from verification_pipeline.config import OpenAI as Rules
from verification_pipeline.errors import CheckerError
from verification_pipeline.keys import hash_of

_OVER = ("completed", "expired", "cancelled", "failed")
_LINES_AT_ONCE = 200
_CLOCK_SKEW = 3_600.0
_NOT_CREATED = (400, 401, 403, 404, 413, 422, 429)
"""Statuses that say for sure that no batch was created."""
_TOO_LARGE = ("context_length_exceeded", "string_above_max_length", "request_too_large")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the batches of a store stand, in numbers of batches; `pending` in pairs."""

    waiting: int
    """Entered but not created yet: the provider could not be asked, or too much is enqueued there."""
    running: int
    collected: int
    """Brought in by this call."""
    failed: int
    """Refused as a whole by the provider, found by this call."""
    pending: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What the lines of result files came to. The first four add up to the requests that came back."""

    success: int = 0
    invalid: int = 0
    error: int = 0
    expired: int = 0
    duplicate: int = 0
    foreign: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.success + other.success,
            self.invalid + other.invalid,
            self.error + other.error,
            self.expired + other.expired,
            self.duplicate + other.duplicate,
            self.foreign + other.foreign,
        )


@dataclass(frozen=True, slots=True)
class _Open:
    """A batch in the ledger that is not over."""

    id: int
    fingerprint: str
    file: str
    tokens: int
    state: str
    attempted_at: float | None
    provider_id: str | None
    input_file_id: str | None

    @property
    def metadata(self) -> dict[str, str]:
        """What names this batch at the provider."""
        return {"verification_pipeline": f"batch-{self.id}", "fingerprint": self.fingerprint}


def submit(questions: Sequence[Question], job: Job) -> dict[str, Left]:
    """Enter batches for these questions and create them; every question is left pending, unless it was refused."""
    key = key_of(job.rules)
    with alone(job.ledger):
        left = enter("batch", questions, job)
        with _client(job.rules, key) as client:
            _create_waiting(client, job.ledger, job.rules)
        out = job.ledger.pending(left)
    refused = Left("provider-error", "the provider refused the batch")
    return {name: refused if why.reason == "pending" and name not in out else why for name, why in left.items()}


def advance(ledger: Ledger, rules: Rules) -> Progress:
    """Take every batch as far as it goes: create what waits, look up what was lost, collect what is over."""
    if not _open_batches(ledger):
        return Progress(0, 0, 0, 0, 0)
    key = key_of(rules)
    with alone(ledger), _client(rules, key) as client:
        over = [_poll(client, key, ledger, rules, one) for one in _open_batches(ledger) if one.provider_id]
        _create_waiting(client, ledger, rules)
    still = _open_batches(ledger)
    sql = "SELECT COUNT(*) FROM claims c JOIN requests r ON r.id = c.request WHERE r.mode = 'batch'"
    pending = ledger.read(sql)[0][0]
    return Progress(
        sum(one.provider_id is None for one in still),
        sum(one.provider_id is not None for one in still),
        over.count("collected"),
        over.count("failed"),
        pending,
    )


# ---- entering


def enter(kind: str, questions: Sequence[Question], job: Job) -> dict[str, Left]:
    """Enter these questions in batches with their input files, within the budget; what each is left as.

    The caller holds the lock. A batch that was being entered when its process was killed was never sent: it is void.
    """
    ledger = job.ledger
    for (half,) in ledger.read("SELECT id FROM batches WHERE state = 'entering' AND kind = ?", kind):
        ledger.release_batch(half, "withdrawn", "the process was killed while it entered this", time.time())
        ledger.update_batch(half, state="failed", note="never sent")
    keys = [question.key for question in questions]
    out = ledger.pending(keys)
    done = ledger.answered(keys)
    left = {key: Left("pending", request_key=request) for key, request in out.items()}
    free = [question for question in questions if question.key not in out and question.key not in done]
    shards = _shards(job.packer.requests(free, ledger.sizes(keys)), job.rules)
    over_budget = False
    for shard in shards:
        entered = {} if over_budget else _enter(kind, shard, job)
        for request in shard:
            begun = entered.get(request.key, OverBudget())
            over_budget = over_budget or isinstance(begun, OverBudget)
            reason = Left("budget") if isinstance(begun, OverBudget) else Left("pending", request_key=request.key)
            left.update((question.key, reason) for question in request.questions)
    return left


def _enter(kind: str, shard: Sequence[Request], job: Job) -> dict[str, Sent | Taken | OverBudget]:
    """Enter one batch and write its file; what became of its requests, up to the first that is over budget."""
    ledger = job.ledger

    def write() -> tuple[int, dict[str, Sent | Taken | OverBudget]]:
        batch = ledger.add_batch(kind)
        found: dict[str, Sent | Taken | OverBudget] = {}
        for request in shard:
            found[request.key] = _begin(job, request, kind, batch)
            if isinstance(found[request.key], OverBudget):
                break
        return batch, found

    batch, found = ledger.together([write])[0]
    begun = [request for request in shard if isinstance(found.get(request.key), Sent)]
    if not begun:
        ledger.update_batch(batch, state="failed", note="nothing to send")
        return found
    answer_format = format_of(ledger, job.rules)
    lines = [line(request, job.rules, answer_format) for request in begun]
    fingerprint = hash_of(kind, *(one.decode() for one in lines))
    file = f"{kind}-{batch:06d}-{fingerprint[:12]}.jsonl"
    write_whole(ledger.folder / "requests" / file, b"".join(lines))
    tokens = sum(request.input_tokens for request in begun)
    ledger.update_batch(
        batch, state="intent", fingerprint=fingerprint, file=file, tokens=tokens, answer_format=answer_format
    )
    return found


def format_of(ledger: Ledger, rules: Rules) -> str:
    """The format that batches and files ask in: that of the settings, or what refusals left of it."""
    return ledger.answer_format(asking(rules)) or rules.answer_format


def _step_down(ledger: Ledger, rules: Rules, request: int | None, batch: int | None) -> None:
    """Give up the format that a sending was refused in, or a whole batch."""
    sql = (
        "SELECT b.answer_format FROM batches b JOIN requests r ON r.batch = b.id"
        " WHERE (r.id = ?1 OR b.id = ?2) AND r.model = ?3 LIMIT 1"
    )
    found = ledger.read(sql, request, batch, rules.model)
    if found and found[0][0] == format_of(ledger, rules) != FORMATS[-1]:
        ledger.use_format(asking(rules), FORMATS[FORMATS.index(found[0][0]) + 1])


def _begin(job: Job, request: Request, kind: str, batch: int) -> Sent | Taken | OverBudget:
    mode = "offline-file" if kind == "offline" else "batch"
    return job.ledger.begin(
        sending_of(request, job),
        run=job.run.id,
        mode=mode,
        now=time.time(),
        budget=job.rules.budget_cents,
        batch=batch,
    )


def _shards(requests: Iterable[Request], rules: Rules) -> Iterator[list[Request]]:
    """Requests in files below the limits of count, bytes and enqueued tokens; no request twice in a file."""
    shard: list[Request] = []
    size = tokens = 0
    for request in requests:
        n_bytes = len(line(request, rules))
        if shard and (
            len(shard) >= rules.batch_max_requests
            or size + n_bytes > rules.batch_max_bytes
            or tokens + request.input_tokens > rules.batch_max_tokens
        ):
            yield shard
            shard, size, tokens = [], 0, 0
        shard.append(request)
        size += n_bytes
        tokens += request.input_tokens
    if shard:
        yield shard


# ---- creating


def _create_waiting(client: OpenAI, ledger: Ledger, rules: Rules) -> None:
    """Create the batches that wait, while the provider can be asked and not too much is enqueued there."""
    waiting = [one for one in _open_batches(ledger) if one.provider_id is None]
    enqueued = sum(one.tokens for one in _open_batches(ledger) if one.provider_id)
    lost = [one.attempted_at or 0.0 for one in waiting if one.state == "attempted"]
    try:
        known = _listed(client, min(lost)) if lost else []
        for one in waiting:
            if one.state == "attempted":
                found = [batch for batch in known if (batch.metadata or {}).items() >= one.metadata.items()]
                if found:
                    ledger.update_batch(one.id, state="created", provider_id=found[0].id)
                    enqueued += one.tokens
                    continue
                if time.time() - (one.attempted_at or 0.0) < rules.batch_settle_seconds:
                    continue
            if not enqueued or enqueued + one.tokens <= rules.batch_max_tokens:
                enqueued += _create(client, ledger, one)
    except APIStatusError as error:
        _refused(error, rules)
    except APIError:
        return


def _create(client: OpenAI, ledger: Ledger, one: _Open) -> int:
    """Upload a batch's file and create it; the tokens that are enqueued by it (none when it was refused)."""
    file_id = one.input_file_id
    if file_id is None:
        path = ledger.folder / "requests" / one.file
        file_id = client.files.create(file=(one.file, path.read_bytes()), purpose="batch").id
        ledger.update_batch(one.id, input_file_id=file_id)
    ledger.update_batch(one.id, state="attempted", attempted_at=time.time())
    try:
        batch = client.batches.create(
            completion_window="24h", endpoint="/v1/chat/completions", input_file_id=file_id, metadata=one.metadata
        )
    except APIStatusError as error:
        if error.status_code not in _NOT_CREATED:
            raise  # it may exist: it is looked up before anything else is created for it
        note = f"creation refused: HTTP {error.status_code}"
        if error.status_code in (401, 403, 429):
            ledger.update_batch(one.id, state="intent", note=note)
            raise
        ledger.release_batch(one.id, "failed", note, time.time())
        ledger.update_batch(one.id, state="failed", note=note)
        return 0
    ledger.update_batch(one.id, state="created", provider_id=batch.id, note=None)
    return one.tokens


def _listed(client: OpenAI, since: float) -> list[Batch]:
    """The provider's batches that were created since a moment, newest first as it lists them."""
    found: list[Batch] = []
    for batch in client.batches.list(limit=100):
        if batch.created_at < since - _CLOCK_SKEW:
            break
        found.append(batch)
    return found


# ---- collecting


def _poll(client: OpenAI, key: Secret, ledger: Ledger, rules: Rules, one: _Open) -> str:
    """Look one batch up and bring in what it brought; what became of it."""
    try:
        batch = client.batches.retrieve(one.provider_id or "")
        if batch.status not in _OVER:
            return "running"
        files = [
            _downloaded(
                client,
                key,
                ledger.folder / "answers" / f"{one.file.removesuffix('.jsonl')}-{one.id}-{kind}.jsonl",
                file,
            )
            for kind, file in (("output", batch.output_file_id), ("error", batch.error_file_id))
            if file
        ]
    except APIStatusError as error:
        if error.status_code == 404:
            ledger.release_batch(one.id, "missing", "the provider does not know the batch any more", time.time())
            ledger.update_batch(one.id, state="failed", note="unknown to the provider")
            return "failed"
        _refused(error, rules)
        return "running"
    except APIError:
        return "running"
    if batch.errors and refuses_format(batch.errors.model_dump_json().encode()):
        _step_down(ledger, rules, None, one.id)
    tally = Tally()
    for path in files:
        tally += bring_in(ledger, rules, "batch", path.read_bytes(), one.id)
    faults = [error.code or "" for error in (batch.errors.data or [])] if batch.errors else []
    rest = {"expired": "expired", "cancelled": "cancelled", "failed": "failed"}.get(batch.status, "missing")
    missing = ledger.release_batch(one.id, rest, ", ".join(sorted(set(faults)))[:200] or None, time.time())
    state = "failed" if batch.status == "failed" else "collected"
    ledger.update_batch(one.id, state=state, note=f"{batch.status}: {tally}, {missing} without an answer; {faults[:5]}")
    return state


def bring_in(ledger: Ledger, rules: Rules, mode: str, raw: bytes, batch: int | None) -> Tally:
    """Enter the lines of a result file, in any order, each request once; a call that was killed is simply repeated."""
    requests = ledger.open_requests(batch)
    lines: dict[str, bytes] = {}
    differing: set[str] = set()
    foreign = duplicate = 0
    for text in filter(bytes.strip, raw.split(b"\n")):
        name = _name(text)
        if name not in requests:
            foreign += 1
        elif name in lines:
            duplicate += 1
            if lines[name] != text:
                differing.add(name)
        else:
            lines[name] = text
    tally = Tally(foreign=foreign, duplicate=duplicate)
    names = list(lines)
    for start in range(0, len(names), _LINES_AT_ONCE):
        writes = []
        for name in names[start : start + _LINES_AT_ONCE]:
            if name in differing:
                result, kind = Result("invalid-output", fault="two answers", splits=True), Tally(invalid=1)
            else:
                result, kind = _result(ledger, rules, mode, lines[name], requests[name])
            tally += kind
            writes.append(_entry(ledger, requests[name], result))
        ledger.together(writes)
    return tally


def _entry(ledger: Ledger, request: int, result: Result) -> Callable[[], object]:
    def write() -> None:
        faults = ledger.finish(request, result, time.time())
        if result.fault == "too-large" and len(faults) == 1:
            (key,) = faults
            ledger.refuse(key, request, "too-large", time.time())

    return write


def _name(text: bytes) -> str:
    """The request that a line answers; empty when it does not say."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    name = found.get("custom_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) else ""


def _result(ledger: Ledger, rules: Rules, mode: str, text: bytes, request: int) -> tuple[Result, Tally]:
    """What one line of a result file means for its request."""
    found = orjson.loads(text)
    response, error = found.get("response"), found.get("error")
    status = response.get("status_code") if isinstance(response, dict) else None
    body = response.get("body") if isinstance(response, dict) else None
    if status == 200 and not error:
        _, offered = ledger.asked(request)
        result = completed(body, offered, rules, mode)
        return result, Tally(invalid=1) if result.state == "invalid-output" else Tally(success=1)
    code = _error_code(error, body)
    if code == "batch_expired":
        return Result("expired", cents=0.0, fault=code), Tally(expired=1)
    if refuses_format(orjson.dumps([error, body])):
        _step_down(ledger, rules, request, None)
        return Result("failed", cents=0.0, fault="answer format refused"), Tally(error=1)
    large = code in _TOO_LARGE
    fault = "too-large" if large else code or f"HTTP {status}"
    return Result("failed", cents=0.0, fault=fault, splits=large or status == 400), Tally(error=1)


def _error_code(error: Any, body: Any) -> str:
    inner = body.get("error") if isinstance(body, dict) else None
    for one in (error, inner):
        if isinstance(one, dict) and isinstance(one.get("code"), str):
            return str(one["code"])[:80]
    return ""


# ---- small parts


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _downloaded(client: OpenAI, key: Secret, path: Path, file_id: str) -> Path:
    if not path.exists():
        write_whole(path, key.out_of_bytes(client.files.content(file_id).content))
    return path


def _open_batches(ledger: Ledger) -> list[_Open]:
    sql = (
        "SELECT id, fingerprint, file, tokens, state, attempted_at, provider_id, input_file_id FROM batches"
        " WHERE kind = 'batch' AND state NOT IN ('entering', 'collected', 'failed') ORDER BY id"
    )
    return [_Open(*row) for row in ledger.read(sql)]


def alone(ledger: Ledger) -> FileLock:
    """Held while anything is said to the provider about batches."""
    return FileLock(ledger.folder / "batch.lock")


def _client(rules: Rules, key: Secret) -> OpenAI:
    http = httpx2.Client(verify=tls(), timeout=rules.timeout_seconds, follow_redirects=False)
    return OpenAI(
        api_key=key.reveal(), base_url=rules.base_url, max_retries=0, timeout=rules.timeout_seconds, http_client=http
    )


def _refused(error: APIStatusError, rules: Rules) -> None:
    """A refused key stops everything; any other status is tried again at the next call."""
    if error.status_code in (401, 403):
        raise CheckerError(f"the server refused the key of {rules.api_key_env} (HTTP {error.status_code})") from None
