"""One chat completion over HTTP, with everything around it that may go wrong: pace, pauses, further tries, time.

Addresses and headers are those of the official client; the bytes go out beside it, by aiohttp: its retries know nothing
of the other requests in flight, and its models and its transport would cost more than the rest of the path. What an
answer means is read in `answers`; what happens to pairs that got none is decided in `online`.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from types import TracebackType
from typing import Any

import aiohttp
import httpx2
import openai
import orjson

from verification_pipeline.checkers.llm.credentials import Secret
from verification_pipeline.checkers.llm.requests import FORMATS
from verification_pipeline.config import OpenAI

_LONGEST_BACKOFF = 8.0
_TIMEOUT_TRIES = 2
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TOO_LARGE = ("context_length", "maximum context", "context window", "too many tokens", "too large", "exceed_context")
_QUOTA = ("insufficient_quota", "billing_hard_limit", "access_terminated")
_FORMAT = ("response_format", "json_schema")
"""An error that speaks of these refuses the format, whatever its status (llama-cpp-python answers 500)."""
_REFUSING = (400, 404, 415, 422, 501)
"""Statuses with which servers refuse a response format they do not know."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of one request: a completion (and its raw bytes), or a fault."""

    completion: object = None
    raw: bytes = b""
    fault: str | None = None
    """provider-error, rate-limited, too-large, rejected or refused-key"""
    detail: str | None = None
    tries: int = 1


@cache
def tls() -> ssl.SSLContext:
    """The trusted certificates, read once a process."""
    return httpx2.create_ssl_context()


@dataclass(slots=True)
class _Allowance:
    """What a server said was left at a moment, when all is back, and how fast it comes back (0: all at once)."""

    left: float
    since: float
    whole_at: float
    rate: float


class Pacer:
    """When the next request may go out: one pause shared by all requests in flight, and what the headers allow.

    `x-ratelimit-reset-*` is the time until everything is back; where the limit is told too, what is missing for the
    next request comes back in proportion.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:  # fmt: skip
        self._clock = clock
        self._sleep = sleep
        self._until = 0.0
        self._known: dict[str, _Allowance] = {}

    async def ready(self, tokens: int) -> None:
        """Wait until a request of so many tokens may go out; takes it from what is left."""
        while (pause := self._pause(tokens)) > 0:
            await self._sleep(pause)
        for kind, cost in (("requests", 1), ("tokens", tokens)):
            if kind in self._known:
                self._known[kind].left -= cost

    def cool_down(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._until = max(self._until, self._clock() + seconds)

    def learn(self, headers: Mapping[str, str], in_flight: int, tokens_in_flight: int) -> None:
        """Take over what a server says is left, less what it has not counted yet."""
        for kind, open_cost in (("requests", in_flight), ("tokens", tokens_in_flight)):
            left, reset = headers.get(f"x-ratelimit-remaining-{kind}"), headers.get(f"x-ratelimit-reset-{kind}")
            seconds = duration(reset)
            if left is None or seconds is None or not left.strip().isdigit():
                continue
            limit = headers.get(f"x-ratelimit-limit-{kind}", "").strip()
            used = int(limit) - int(left) if limit.isdigit() else 0
            rate = used / seconds if used > 0 and seconds > 0 else 0.0
            self._known[kind] = _Allowance(int(left) - open_cost, self._clock(), self._clock() + seconds, rate)

    def _pause(self, tokens: int) -> float:
        now = self._clock()
        pause = self._until - now
        for kind, cost in (("requests", 1), ("tokens", tokens)):
            known = self._known.get(kind)
            if known is None:
                continue
            if now >= known.whole_at:
                del self._known[kind]
                continue
            missing = cost - known.left - known.rate * (now - known.since)
            if missing > 1e-6:
                whole = known.whole_at - now
                pause = max(pause, min(whole, missing / known.rate) if known.rate else whole)
        return pause


class ChatClient:
    """Sends chat completions to one server, from one event loop."""

    def __init__(self, rules: OpenAI, key: Secret) -> None:
        self._rules = rules
        self._key = key
        self._pacer = Pacer()
        self._formats = list(FORMATS[FORMATS.index(rules.answer_format) :])
        self._in_flight = 0
        self._tokens_in_flight = 0
        self._url, headers = _address(rules, key)
        self._session = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=rules.concurrency, ssl=tls()),
            timeout=aiohttp.ClientTimeout(rules.timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=True,
        )

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def complete(self, body_in: Callable[[str], dict[str, Any]], tokens: int) -> Delivery:
        """One completion; `body_in` gives the request in an answer format. Never raises for a fault of the server.

        The strictest format that the server takes is used; one that it refuses is given up only when the same
        request is taken in the next.
        """
        for position, answer_format in enumerate(list(self._formats)):
            delivery = await self._deliver(orjson.dumps(body_in(answer_format)), tokens)
            if delivery.fault != "rejected":
                if delivery.fault is None and position:
                    self._formats = list(FORMATS[FORMATS.index(answer_format) :])
                return delivery
        return delivery

    async def _deliver(self, raw: bytes, tokens: int) -> Delivery:
        """Send one body, again where that may help."""
        rules = self._rules
        tries = faults = timeouts = 0
        waiting_since = time.monotonic()
        while True:
            await self._pacer.ready(tokens)
            tries += 1
            pause = None
            try:
                status, headers, content = await self._post(raw, tokens)
            except TimeoutError:
                timeouts, detail = timeouts + 1, "no answer in time"
            except aiohttp.ClientError as error:
                detail = f"connection: {type(error).__name__}"
            else:
                clean = self._key.out_of_bytes(content)
                body = _json(clean)
                if status == 200 and body is not None:
                    return Delivery(body, clean, tries=tries)
                fault = _fault(status, clean)
                detail = self._key.out_of(f"HTTP {status} {_code(body)}".strip())
                pause = retry_after(headers)
                if fault == "rate-limited" and time.monotonic() - waiting_since < rules.max_wait_seconds:
                    self._pacer.cool_down(self._backoff(tries) if pause is None else pause)
                    continue
                if fault != "provider-error":
                    return Delivery(fault=fault, detail=detail, tries=tries)
            faults += 1
            if faults > rules.retries or timeouts >= _TIMEOUT_TRIES:
                return Delivery(fault="provider-error", detail=detail, tries=tries)
            await asyncio.sleep(self._backoff(faults) if pause is None else min(pause, rules.max_wait_seconds))

    async def _post(self, raw: bytes, tokens: int) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and bytes of what comes back. TimeoutError, aiohttp.ClientError."""
        self._in_flight += 1
        self._tokens_in_flight += tokens
        headers: Mapping[str, str] = {}
        try:
            async with self._session.post(self._url, data=raw, allow_redirects=False) as response:
                content = await response.read()
                headers = response.headers
                return response.status, headers, content
        finally:
            self._in_flight -= 1
            self._tokens_in_flight -= tokens
            self._pacer.learn(headers, self._in_flight, self._tokens_in_flight)

    def _backoff(self, tries: int) -> float:
        return min(_LONGEST_BACKOFF, self._rules.backoff_seconds * 2.0 ** min(tries - 1, 10))


def _address(rules: OpenAI, key: Secret) -> tuple[str, dict[str, str]]:
    """Where completions are asked for, and the headers of the official client that go with it."""
    official = openai.OpenAI(api_key=key.reveal(), base_url=rules.base_url, http_client=httpx2.Client(verify=tls()))
    with official:
        headers = {**official.default_headers, **official.auth_headers}
        url = str(official.base_url.join("chat/completions"))
    return url, {name: value for name, value in headers.items() if isinstance(value, str)}


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date (RFC 9110)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if 0 <= seconds < 86_400 else None
    try:
        seconds = parsedate_to_datetime(headers["retry-after"]).timestamp() - now()
    except (KeyError, ValueError):
        return None
    return min(max(0.0, seconds), 86_400)


def duration(text: str | None) -> float | None:
    """Seconds of a rate-limit reset: `20ms`, `6m0s`, `1h2m`, or a plain number of seconds."""
    if not text:
        return None
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        return max(0.0, float(text))
    except ValueError:
        return None


def _json(raw: bytes) -> object:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def refuses_format(raw: bytes) -> bool:
    """Whether an error speaks of the answer's format."""
    said = raw[:4_000].decode("utf-8", "replace").lower()
    return any(word in said for word in _FORMAT)


def _fault(status: int, raw: bytes) -> str:
    said = raw[:4_000].decode("utf-8", "replace").lower()
    if status in (401, 403):
        return "refused-key"
    if status == 429:
        return "refused-key" if any(word in said for word in _QUOTA) else "rate-limited"
    if status == 413 or (400 <= status < 500 and any(word in said for word in _TOO_LARGE)):
        return "too-large"
    if refuses_format(raw):
        return "rejected"
    if status in (200, 408, 409, 425) or (status >= 500 and status not in _REFUSING):
        return "provider-error"
    return "rejected"


def _code(body: object) -> str:
    """The machine-readable code of an error body; its message may repeat what was sent and is not kept."""
    error = body.get("error") if isinstance(body, dict) else None
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    return str(code)[:80] if code else ""
