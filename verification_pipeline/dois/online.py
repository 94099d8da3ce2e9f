"""Polite requests to online registers, and what all of them give back.

Pacing by the server's own headers, retries with back-off, a stop when a server is down: here, once. How a register
is asked and what its bodies mean is in its own module.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import polars as pl

from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.keys import unit_interval

_AGENT = "verification-pipeline/0.1"
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})

RECORD_SCHEMA = {
    "record": pl.String(),
    "doi": pl.String(),
    "pmid": pl.String(),
    "work_date": tables.DAY,
    "witness": pl.String(),
    "nature": pl.String(),
    "notice_date": tables.DAY,
    "notice_doi": pl.String(),
    "notice_pmid": pl.String(),
    "reason": pl.String(),
    "raw": pl.String(),
}
"""What a register's module makes of one entry: the input of `notices.sealed`."""

Record = dict[str, Any]
T = TypeVar("T")


class NoAnswer(Exception):
    """A question that a register did not answer; the message is the reason, in a few words."""


@dataclass(slots=True)
class Answers:
    """What a register answered: an outcome for every key it was asked (a DOI, a PubMed id), and its records.

    Outcomes are `found`, `clean`, `unknown` (no such work), `unknown:<why it says nothing>` and `failed:<reason>`.
    """

    outcomes: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def fail(self, keys: Sequence[str], reason: str) -> None:
        """Nobody answered for these keys."""
        self.outcomes.update(dict.fromkeys(keys, f"failed:{reason}"))

    def failed(self) -> dict[str, int]:
        """How many questions failed, by reason."""
        reasons: dict[str, int] = {}
        for outcome in self.outcomes.values():
            if outcome.startswith("failed:"):
                reason = outcome.removeprefix("failed:")
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons


def take(key: str, read: Callable[[], list[Record]], answers: Answers) -> None:
    """Keep what a body says of one work; a body of another shape fails that work alone."""
    try:
        records = read()
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        answers.fail([key], "answer of another shape")
        return
    answers.records += records
    answers.outcomes[key] = "found" if records else "clean"


class Client:
    """One register's connection: never more requests in flight, nor closer together, than its headers allow.

    One request goes ahead; `concurrency` more may follow once its answer shows what the server takes.
    """

    def __init__(self, base: str, settings: Registers) -> None:
        agent = f"{_AGENT} (mailto:{settings.mailto})" if settings.mailto else _AGENT
        self._settings = settings
        self._http = httpx.AsyncClient(
            base_url=base,
            timeout=settings.timeout_seconds,
            follow_redirects=True,
            headers={"User-Agent": agent},
            limits=httpx.Limits(max_connections=settings.concurrency),
        )
        self._turn = asyncio.Condition()
        self._in_flight = 0
        self._allowed = 1
        self._spacing = 0.0
        self._next_start = 0.0
        self._failures = 0
        self._down: str | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> httpx.Response:
        """The answer of the server, whatever its status but 429 and 5xx. NoAnswer when there is none.

        A request keeps its slot while it waits to be tried again: a server in trouble sees fewer requests, not more.
        """
        async with self._slot():
            reason = ""
            for attempt in range(self._settings.attempts):
                if self._down is not None:
                    raise NoAnswer(self._down)
                response, reason = await self._try(path, params)
                if not reason and response is not None:
                    self._failures = 0
                    return response
                if attempt + 1 < self._settings.attempts:
                    asked_for = None if response is None else response.headers.get("retry-after")
                    await asyncio.sleep(self._wait(path, attempt, asked_for))
            self._failures += 1
            if self._failures >= self._settings.failures_until_down:
                self._down = reason
            raise NoAnswer(reason)

    async def _try(self, path: str, params: Mapping[str, str] | None) -> tuple[httpx.Response | None, str]:
        """One request: the response if there is one, and why it must be tried again (empty: it need not)."""
        await self._pace()
        try:
            response = await self._http.get(path, params=params)
        except httpx.HTTPError as error:
            return None, _words(error)
        self._heed(response)
        return response, f"HTTP {response.status_code}" if response.status_code in _TRY_AGAIN else ""

    async def get_json(self, path: str, params: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Status and JSON body; a body that is no JSON is None with an error status, and NoAnswer with 200."""
        response = await self.get(path, params)
        try:
            return response.status_code, response.json()
        except ValueError:
            if response.is_success:
                raise NoAnswer("answer is not JSON") from None
            return response.status_code, None

    async def _pace(self) -> None:
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + self._spacing
        if start > now:
            await asyncio.sleep(start - now)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        async with self._turn:
            await self._turn.wait_for(lambda: self._in_flight < self._allowed)
            self._in_flight += 1
        try:
            yield
        finally:
            async with self._turn:
                self._in_flight -= 1
                self._turn.notify(max(1, self._allowed - self._in_flight))

    def _heed(self, response: httpx.Response) -> None:
        """Take the pace from the answer: `x-concurrency-limit`, `x-rate-limit-limit` a `x-rate-limit-interval`."""
        stated = _number(response.headers.get("x-concurrency-limit"))
        most = self._settings.concurrency
        self._allowed = most if stated is None else max(1, min(most, int(stated)))
        limit = _number(response.headers.get("x-rate-limit-limit"))
        interval = _number(str(response.headers.get("x-rate-limit-interval")).removesuffix("s"))
        if limit and interval:
            self._spacing = interval / limit

    def _wait(self, path: str, attempt: int, asked_for: str | None) -> float:
        """Seconds until the next try: what the server asks for, else doubling with a jitter fixed by the path."""
        seconds: float = self._settings.backoff_seconds * 2**attempt * (1 + unit_interval(attempt, path))
        if asked_for is not None and asked_for.strip().isdigit():
            seconds = max(seconds, float(asked_for))
        return min(seconds, self._settings.longest_wait_seconds)


def in_batches(keys: Sequence[T], size: int) -> list[Sequence[T]]:
    """Consecutive runs of at most `size`."""
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def frame(records: Sequence[Record]) -> pl.DataFrame:
    """Records as a frame; what a record leaves out is null."""
    return pl.DataFrame(
        [{name: record.get(name) for name in RECORD_SCHEMA} for record in records], schema=RECORD_SCHEMA
    )


def _number(value: str | None) -> float | None:
    return float(value) if value is not None and re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", value) else None


def _words(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    return "no connection" if isinstance(error, httpx.TransportError) else type(error).__name__
