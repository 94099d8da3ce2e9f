"""Asking at once: bounded requests in flight, every answer on the disk before its slot is used again.

A slot carries one request after another. What came of one is entered in the transaction that enters the next, so that
a request waits for the disk once and not twice.

Pairs that a request leaves without a good row are asked again in requests of half the size (25, 13, 7, 4, 2, 1); what
fails alone is final. A run of failures without a success in between opens the circuit: the rest is not asked.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import orjson

from verification_pipeline.checkers.llm import money
from verification_pipeline.checkers.llm.answers import read, reply_of
from verification_pipeline.checkers.llm.client import ChatClient, Delivery
from verification_pipeline.checkers.llm.credentials import Secret
from verification_pipeline.checkers.llm.ledger import Ledger, OverBudget, Result, Sending, Sent, Taken
from verification_pipeline.checkers.llm.questions import Question
from verification_pipeline.checkers.llm.requests import Packer, Request, body, line
from verification_pipeline.checkers.protocol import Run
from verification_pipeline.config import OpenAI
from verification_pipeline.errors import CheckerError

T = TypeVar("T")
_PROCESS = secrets.token_hex(4)
_POLL_SECONDS = 0.2
"""How often answers that another process is waiting for are looked up."""


@dataclass(frozen=True, slots=True)
class Left:
    """Why a question was left without an answer."""

    reason: str
    detail: str | None = None
    request_key: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that asking needs besides the questions."""

    rules: OpenAI
    ledger: Ledger
    packer: Packer
    run: Run
    askers: Mapping[str, Mapping[str, int]]
    """key → (document_key → pairs)"""


def sending_of(request: Request, job: Job) -> Sending:
    """A request as the ledger enters it."""
    return Sending(
        request.key,
        job.rules.model,
        {question.label: question.key for question in request.questions},
        {
            question.label: {label: passage.span.text_sha256 for label, passage in question.offered}
            for question in request.questions
        },
        {question.key: job.askers[question.key] for question in request.questions},
        money.most_of(request, job.rules),
    )


def ask(questions: Sequence[Question], job: Job, key: Secret) -> dict[str, Left]:
    """Ask these questions; those that got no answer, and why, by key. Answers are in the ledger.

    CheckerError when the server refuses the key: after everything in flight has come back.
    """
    job.ledger.release_lost(time.time())
    requests = job.packer.requests(questions, job.ledger.sizes(question.key for question in questions))
    return asyncio.run(_ask(requests, job, key))


async def _ask(requests: Iterator[Request], job: Job, key: Secret) -> dict[str, Left]:
    with ThreadPoolExecutor(1) as disk, Logs(job.ledger.folder) as logs:
        async with ChatClient(job.rules, key) as client:
            asking = _Asking(job, client, logs, _GroupCommit(job.ledger, disk), requests)
            await asking.run()
    if asking.refused:
        raise CheckerError(
            f"the server refused the key of {job.rules.api_key_env} or the model {job.rules.model} ({asking.refused})"
        )
    return asking.left


@dataclass(frozen=True, slots=True)
class _Came:
    """What came of one request, not entered yet."""

    request: Request
    sent: Sent
    delivery: Delivery
    result: Result


@dataclass
class _Asking:
    """The state that the slots of one call share."""

    job: Job
    client: ChatClient
    logs: Logs
    commit: _GroupCommit
    fresh: Iterator[Request]
    waiting: deque[Request] = field(default_factory=deque)
    """Requests for what others left open."""
    left: dict[str, Left] = field(default_factory=dict)
    failures_in_a_row: int = 0
    over_budget: bool = False
    refused: str | None = None
    slots: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        """Ask until nothing waits and nothing is in flight."""
        self.open_slots(self.job.rules.concurrency)
        while self.slots:
            done, _ = await asyncio.wait(self.slots, return_when=asyncio.FIRST_COMPLETED)
            self.slots -= done
            for slot in done:
                slot.result()

    def open_slots(self, wanted: int) -> None:
        """Open so many slots, as far as there may be so many."""
        for _ in range(min(wanted, self.job.rules.concurrency - len(self.slots))):
            self.slots.add(asyncio.create_task(self.slot()))

    async def slot(self) -> None:
        """Carry one request after another, each answer entered before the next request goes out."""
        came: _Came | None = None
        while (request := self.next()) or came:
            faults, begun = await self.enter(came, request)
            if came:
                await self.follow(came, faults)
            came = await self.carry(request, begun) if request and begun else None

    def next(self) -> Request | None:
        """The next request to be sent; those that are not sent any more are left."""
        while request := self.waiting.popleft() if self.waiting else next(self.fresh, None):
            stop = self.stopped()
            if stop is None:
                return request
            self.leave(request.questions, stop)
        return None

    async def enter(
        self, came: _Came | None, request: Request | None
    ) -> tuple[dict[str, str], Sent | Taken | OverBudget | None]:
        """Enter what came of one request, and the next one, in one transaction; the faults of the one, by key."""
        job, ledger = self.job, self.job.ledger
        sending, sent_line = (sending_of(request, job), line(request, job.rules)) if request else (None, b"")

        def write() -> tuple[dict[str, str], Sent | Taken | OverBudget | None]:
            faults: dict[str, str] = {}
            begun: Sent | Taken | OverBudget | None = None
            if came:
                if came.delivery.raw:
                    self.logs.answers.write(_answer_line(came.request.key, came.delivery))
                faults = ledger.finish(came.sent.id, came.result, time.time())
            if sending:
                begun = ledger.begin(
                    sending, run=job.run.id, mode="online", now=time.time(), budget=job.rules.budget_cents
                )
                if isinstance(begun, Sent):
                    self.logs.requests.write(sent_line)
            return faults, begun

        return await self.commit(write)

    async def carry(self, request: Request, begun: Sent | Taken | OverBudget) -> _Came | None:
        """Send one request; what came of it."""
        if isinstance(begun, OverBudget):
            self.over_budget = True
            self.leave(request.questions, Left("budget"))
            return None
        if isinstance(begun, Taken):
            self.ask_again(await self.await_others(request, begun), len(request.questions))
            return None
        delivery = await self.client.complete(
            lambda answer_format: body(request, self.job.rules, answer_format), request.input_tokens
        )
        result = result_of(request, delivery, self.job.rules)
        self.failures_in_a_row = 0 if result.reading and result.reading.rows else self.failures_in_a_row + 1
        if delivery.fault == "refused-key":
            self.refused = delivery.detail
        return _Came(request, begun, delivery, result)

    async def follow(self, came: _Came, faults: Mapping[str, str]) -> None:
        """Ask again, or leave, what a request that was entered left open."""
        request, result = came.request, came.result
        size = len(request.questions)
        if size == 1 and came.delivery.fault == "too-large":
            key, sent = request.questions[0].key, came.sent.id
            await self.commit(lambda: self.job.ledger.refuse(key, sent, "too-large", time.time()))
            return
        unanswered = [question for question in request.questions if question.key in faults or not result.reading]
        if result.splits and size > 1:
            self.ask_again(unanswered, (size + 1) // 2)
        elif not result.reading:
            self.leave(unanswered, Left("provider-error", came.delivery.detail))

    def ask_again(self, questions: Sequence[Question], most: int) -> None:
        """Have these questions asked in requests of at most so many."""
        limits = dict.fromkeys((question.key for question in questions), most)
        self.waiting.extend(self.job.packer.requests(questions, limits))
        self.open_slots(len(self.waiting))

    async def await_others(self, request: Request, taken: Taken) -> list[Question]:
        """Wait while another process asks some of these questions; those that it left are to be asked here."""
        ledger = self.job.ledger
        while await asyncio.to_thread(ledger.claimed, taken.keys):
            await asyncio.sleep(_POLL_SECONDS)
        await asyncio.to_thread(ledger.release_lost, time.time())
        answered = await asyncio.to_thread(ledger.answered, taken.keys)
        out = await asyncio.to_thread(ledger.pending, taken.keys)
        self.left.update((key, Left("pending", request_key=sent)) for key, sent in out.items())
        return [one for one in request.questions if one.key not in answered and one.key not in out]

    def stopped(self) -> Left | None:
        """Why nothing more is sent."""
        if self.over_budget:
            return Left("budget")
        if self.refused:
            return Left("provider-error", self.refused)
        if self.failures_in_a_row >= self.job.rules.breaker_failures:
            return Left("circuit-open", f"{self.failures_in_a_row} requests in a row failed")
        return None

    def leave(self, questions: Sequence[Question], left: Left) -> None:
        """Enter why these questions are not asked any more in this run."""
        self.left.update((question.key, left) for question in questions)


def result_of(request: Request, delivery: Delivery, rules: OpenAI) -> Result:
    """What a delivery means for the ledger."""
    if delivery.fault:
        splits = delivery.fault in ("too-large", "rejected", "provider-error")
        return Result("failed", cents=0.0, fault=delivery.detail, tries=delivery.tries, splits=splits)
    offered = {question.label: [label for label, _ in question.offered] for question in request.questions}
    return completed(delivery.completion, offered, rules, "online", delivery.tries)


def completed(
    completion: object,
    offered: Mapping[str, Sequence[str] | Mapping[str, str]],
    rules: OpenAI,
    mode: str,
    tries: int = 1,
) -> Result:
    """A completion that came back, read against the pairs that were asked (and what was offered with each)."""
    reply = reply_of(completion)
    reading = read(reply, list(offered), offered)
    faults = sorted(set(reading.faults.values()))
    state = "answered" if not faults else "partly-answered" if reading.rows else "invalid-output"
    cents = money.cents_of(reply.usage, money.price_of(rules), mode)
    return Result(state, reading, reply.usage, cents, ", ".join(faults) or None, tries, splits=bool(faults))


class Logs:
    """Append-only files of what this process sends and gets, in the line format of the Batch API."""

    def __init__(self, folder: Path) -> None:
        name = f"online-{os.getpid()}-{_PROCESS}.jsonl"
        self.requests = (folder / "requests" / name).open("ab", buffering=0)
        self.answers = (folder / "answers" / name).open("ab", buffering=0)

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.requests, self.answers):
            os.fsync(file.fileno())
            file.close()


class _GroupCommit:
    """Writes from many tasks in few transactions: what comes in while one is flushed goes into the next together."""

    def __init__(self, ledger: Ledger, disk: ThreadPoolExecutor) -> None:
        self._ledger = ledger
        self._disk = disk
        self._waiting: list[tuple[Callable[[], object], asyncio.Future[object]]] = []
        self._flushing: asyncio.Task[None] | None = None

    async def __call__(self, write: Callable[[], T]) -> T:
        """Do one write; it is on the disk when this returns."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, done))  # type: ignore[arg-type]
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        return await done

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                results = await loop.run_in_executor(self._disk, self._ledger.together, [write for write, _ in group])
            except Exception as error:
                for _, done in group:
                    if not done.done():
                        done.set_exception(error)
            else:
                for (_, done), result in zip(group, results, strict=True):
                    if not done.done():
                        done.set_result(result)
        self._flushing = None


def _answer_line(request_key: str, delivery: Delivery) -> bytes:
    made = {"custom_id": request_key, "response": {"status_code": 200, "body": orjson.Fragment(delivery.raw)}}
    return orjson.dumps(made).replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
