"""Pace and pauses, on a clock of the test."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from verification_pipeline.checkers.llm.client import Pacer, duration, retry_after


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def pacer():
    clock = Clock()
    return Pacer(clock, clock.sleep), clock


def remaining(requests=None, tokens=None, reset="10s"):
    found = {"requests": requests, "tokens": tokens}
    headers = {f"x-ratelimit-remaining-{kind}": str(left) for kind, left in found.items() if left is not None}
    return headers | {f"x-ratelimit-reset-{kind}": reset for kind, left in found.items() if left is not None}


def test_without_headers_nothing_waits():
    paced, clock = pacer()
    asyncio.run(paced.ready(10_000))
    assert clock.slept == []


def test_one_pause_holds_for_everyone_and_the_longest_counts():
    paced, clock = pacer()
    paced.cool_down(2)
    paced.cool_down(1)
    asyncio.run(paced.ready(1))
    assert clock.slept == [2]


def test_what_is_left_is_used_up_and_then_waited_for():
    paced, clock = pacer()
    paced.learn(remaining(requests=2), in_flight=0, tokens_in_flight=0)
    for _ in range(2):
        asyncio.run(paced.ready(1))
    assert clock.slept == []
    asyncio.run(paced.ready(1))
    assert clock.slept == [10]


def test_what_is_missing_comes_back_in_proportion_where_the_limit_is_told():
    paced, clock = pacer()
    headers = remaining(requests=0, reset="60s") | {"x-ratelimit-limit-requests": "60"}
    paced.learn(headers, in_flight=2, tokens_in_flight=0)
    asyncio.run(paced.ready(1))
    assert sum(clock.slept) == 3, "one a second; two are in flight, the third may go"


def test_requests_in_flight_are_not_counted_twice():
    paced, clock = pacer()
    paced.learn(remaining(tokens=1_000), in_flight=3, tokens_in_flight=900)
    asyncio.run(paced.ready(100))
    assert clock.slept == []
    asyncio.run(paced.ready(1))
    assert clock.slept == [10]


def test_a_request_larger_than_the_limit_goes_out_when_the_limit_is_fresh():
    paced, clock = pacer()
    paced.learn(remaining(tokens=500), in_flight=0, tokens_in_flight=0)
    asyncio.run(paced.ready(5_000))
    assert clock.slept == [10]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20ms", 0.02),
        ("6m0s", 360),
        ("1h2m3.5s", 3723.5),
        ("1.5", 1.5),
        ("0", 0),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_durations_as_servers_write_them(text, seconds):
    assert duration(text) == seconds


def test_retry_after_in_milliseconds_seconds_or_as_a_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = format_datetime(now.replace(second=30), usegmt=True)
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert retry_after({"retry-after": "9"}) == 9
    assert retry_after({"retry-after": later}, now.timestamp) == 30
    for nonsense in (
        {},
        {"retry-after": "soon"},
        {"retry-after": "nan"},
        {"retry-after": "-5"},
        {"retry-after": "1e9"},
    ):
        assert retry_after(nonsense) is None
