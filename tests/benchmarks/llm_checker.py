"""Throughput of the LLM checker beside bare clients, against the scripted server in a process of its own.

    python -m tests.benchmarks.llm_checker [--requests 3200] [--repeats 3] [--delay 0.2] [--only checker,wire]

Two settings: a server that answers at once (what the client costs), and one that takes 200 ms with 64 requests in
flight (ideal: 320 requests a second). `checker` is the whole path: questions, packing, ledger, HTTP, parsing, evidence;
`asking` is that path without forming the questions. The bare clients only post the same bodies and read the bytes;
`wire` writes prepared bytes to open sockets and is what server and machine allow at best. Start and end of a run are
inside its figure: with 64 in flight the first and the last answers cost about a third of a second.
Besides requests a second it prints milliseconds of the client's processor a request, which a busy machine moves less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.builders import evidence, item
from tests.servers.reader import completion, row
from tests.servers.scripted import KEY
from verification_pipeline.checkers.llm import online, tokens
from verification_pipeline.checkers.llm.checker import LLMChecker, new_run
from verification_pipeline.checkers.llm.credentials import Secret
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.llm.questions import Question, Questioner
from verification_pipeline.checkers.llm.requests import Packer, body
from verification_pipeline.checkers.protocol import Item, Judgement
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

SECRET = "5a" * 32
WORDS = "the weir was built of stone and timber in the spring after the flood had taken the old one away "


def cases(count: int, pairs: int) -> list[Item]:
    """Sources of about 1,500 words, each cited by a few claims."""
    made = []
    for n in range(count):
        said = [f"Gate {n} of lock {k} is {n + k} cm wide." for k in range(pairs)]
        source = evidence(str(n), f"{WORDS * 40} {' '.join(said)} {WORDS * 40}")
        made += [item(claim, source) for claim in said]
    return made


def serve(delay: float, ready: Any) -> None:
    """A server that answers every pair of a request as supported, as cheaply as it can."""

    async def chat(request: Request) -> Response:
        raw = await request.body()
        content = orjson.loads(raw)["messages"][1]["content"]
        rows = []
        for part in content.split("\nPair ")[1:]:
            label, claim = part[:9], part.split("\n", 3)[2]
            rows.append(row(label, "supported", claim, "It stands there."))
        if delay:
            await asyncio.sleep(delay)
        return Response(orjson.dumps(completion(orjson.dumps({"rows": rows}).decode())), media_type="application/json")

    class Ready(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.put(self.servers[0].sockets[0].getsockname()[1])

    app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
    Ready(uvicorn.Config(app, port=0, log_level="critical", access_log=False, lifespan="off")).run()


class Watch:
    """Requests a second and processor milliseconds a request, by contestant."""

    def __init__(self, requests: int) -> None:
        self.requests = requests
        self.found: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        began, busy = time.perf_counter(), time.process_time()
        yield
        wall, spent = time.perf_counter() - began, time.process_time() - busy
        self.found.setdefault(name, []).append((self.requests / wall, 1_000 * spent / self.requests))

    def medians(self) -> dict[str, dict[str, float]]:
        return {
            name: {
                "requests_per_s": round(statistics.median(rate for rate, _ in values), 1),
                "cpu_ms": round(statistics.median(cpu for _, cpu in values), 2),
            }
            for name, values in self.found.items()
        }


async def all_of(call: Callable[[Any], Awaitable[Any]], bodies: list[Any], in_flight: int) -> None:
    """Call for every body, so many at a time."""
    waiting = iter(bodies)

    async def slot() -> None:
        for made in waiting:
            await call(made)

    await asyncio.gather(*(slot() for _ in range(in_flight)))


async def bare_sdk(url: str, bodies: list[dict[str, Any]], in_flight: int) -> None:
    async with AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0) as client:
        await all_of(lambda made: client.chat.completions.create(**made), bodies, in_flight)


async def bare_http(url: str, bodies: list[dict[str, Any]], in_flight: int) -> None:
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=in_flight)) as session:

        async def post(made: dict[str, Any]) -> bytes:
            async with session.post(f"{url}/chat/completions", data=orjson.dumps(made)) as response:
                return await response.read()

        await all_of(post, bodies, in_flight)


async def bare_wire(url: str, bodies: list[dict[str, Any]], in_flight: int) -> None:
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    raw = [orjson.dumps(one) for one in bodies]
    waiting = iter([head % len(one) + one for one in raw])

    async def slot() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        for made in waiting:
            writer.write(made)
            fields = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            size = next(one for one in fields if one.startswith(b"content-length:"))
            await reader.readexactly(int(size.split(b":")[1]))
        writer.close()

    await asyncio.gather(*(slot() for _ in range(in_flight)))


BARE = {"wire": bare_wire, "openai create": bare_sdk, "aiohttp post": bare_http}


def whole(url: str, made: list[Item], in_flight: int, watch: Watch) -> None:
    """The whole path."""
    rules = OpenAI(base_url=url, concurrency=in_flight, candidates=0)
    with tempfile.TemporaryDirectory() as folder:
        with watch.on("checker"):
            outcomes = LLMChecker(rules, SECRET, Path(folder)).check(made, WordRetriever())
        assert all(isinstance(one, Judgement) and one.verdict == "supported" for one in outcomes)


def asking(url: str, made: list[Item], in_flight: int, watch: Watch) -> None:
    """Asking alone."""
    rules = OpenAI(base_url=url, concurrency=in_flight, candidates=0)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder)) as ledger:
        questions = [Questioner(rules, SECRET, WordRetriever()).question(one) for one in made]
        asked = [question for question in questions if isinstance(question, Question)]
        askers = {question.key: {"document": 1} for question in asked}
        job = online.Job(rules, ledger, Packer(rules, SECRET), new_run(), askers)
        with watch.on("asking"):
            assert online.ask(asked, job, Secret(KEY)) == {}


def measure(
    delay: float, in_flight: int, requests: int, pairs: int, repeats: int, only: list[str]
) -> dict[str, dict[str, float]]:
    """Medians, the contestants taking turns."""
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    process = context.Process(target=serve, args=(delay, ready), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{ready.get(timeout=60)}/v1"
    made = cases(requests, pairs)
    rules = OpenAI(base_url=url, candidates=0)
    questioner = Questioner(rules, SECRET, WordRetriever())
    packed = Packer(rules, SECRET).requests(
        [question for one in made if isinstance(question := questioner.question(one), Question)]
    )
    bodies = [body(request, rules, "json_schema") for request in packed]
    tokens.count("warm")
    watch = Watch(len(bodies))
    try:
        for _ in range(repeats):
            for name, run in BARE.items():
                if name in only:
                    with watch.on(name):
                        asyncio.run(run(url, bodies, in_flight))
            for name, path in (("checker", whole), ("asking", asking)):
                if name in only:
                    path(url, made, in_flight, watch)
    finally:
        process.kill()
    return watch.medians()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=3_200)
    parser.add_argument("--pairs", type=int, default=3, help="pairs a source, hence a request")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--delay", type=float, choices=[0.0, 0.2], help="one setting only, seconds")
    parser.add_argument("--only", default=",".join((*BARE, "checker", "asking")), help="contestants, by comma")
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    for delay, in_flight in ((0.0, 16), (0.2, 64)):
        if options.delay not in (None, delay):
            continue
        figures = measure(delay, in_flight, options.requests, options.pairs, options.repeats, options.only.split(","))
        ideal = in_flight / delay if delay else None
        print(json.dumps({"delay_ms": delay * 1000, "in_flight": in_flight, "ideal": ideal, **figures}, indent=1))


if __name__ == "__main__":
    main()
