"""A server that speaks the OpenAI chat, files and batch endpoints on the loopback, and fails on demand.

    with serving(Script(...)) as server:  # server.base_url, server.script

What goes wrong is decided by `Script.fault` from the number of the request and the prompt. The server remembers every
request it was paid for: what a client asks twice is seen here and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.servers.reader import Prompt, completion, prompt_of, row, rows_of

KEY = "sk-test-0123456789abcdef"


def _never(number: int, prompt: Prompt) -> str | None:
    return None


def _none(number: int) -> str | None:
    return None


@dataclass
class Script:
    """What the server does, and what it has seen."""

    fault: Callable[[int, Prompt], str | None] = _never
    judge: Callable[[Prompt], list[dict[str, Any]]] = rows_of
    delay: float = 0.0
    """Seconds that an answer takes; a batch exists so long before the client hears of it."""
    hang: float = 30.0
    formats: tuple[str, ...] = ("json_schema", "json_object", "text")
    """Response formats it knows; it refuses others with `format_status`."""
    format_status: int = 400
    limit: int | None = None
    """Requests allowed a second; more get 429."""
    told: bool = True
    """Whether the headers say what is left."""
    retry_after: bool = True
    cached: int = 0
    polls: int = 1
    """How often a batch is looked up before it is over."""
    batch_status: str = "completed"
    batch_faults: Callable[[int], str | None] = _none
    """By line number: expired, error, missing, duplicate, foreign, too-large, or a fault of a single answer."""
    batch_create: Callable[[int], str | None] = _none
    """By creation: `lost` creates the batch and cuts the connection; `down` does nothing but fail."""
    batch_errors: list[dict[str, Any]] = field(default_factory=list)
    list_down: bool = False
    no_output_file: bool = False

    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    """Pair labels that a well-formed request was answered for, by how often."""
    in_flight: int = 0
    most_in_flight: int = 0
    window: tuple[int, int] = (0, 0)
    refused: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    created: int = 0


class Server:
    """A running server."""

    def __init__(self, script: Script) -> None:
        self.script = script  # may be exchanged between requests
        self._config = uvicorn.Config(
            _app(self), port=0, log_level="critical", access_log=False, lifespan="off", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(self._config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def base_url(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    def start(self) -> None:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)

    def stop(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)


@contextmanager
def serving(script: Script | None = None) -> Iterator[Server]:
    """A server for the time of a `with` block."""
    server = Server(script or Script())
    server.start()
    try:
        yield server
    finally:
        server.stop()


def answered(script: Script, number: int, body: dict[str, Any], fault: str | None, prompt: Prompt) -> dict[str, Any]:
    """A completion, with the faults that an answer itself can have."""
    rows = script.judge(prompt)
    script.asked.update(pair.label for pair in prompt.pairs)
    reason = "stop"
    if fault == "shuffled":
        rows = rows[::-1]
    elif fault == "missing-row":
        rows = rows[:-1]
    elif fault == "no-rows":
        rows = []
    elif fault == "foreign":
        rows = [*rows, row("p00000000", "supported", "x")]
    elif fault == "duplicate":
        rows = [*rows, {**rows[0], "verdict": "unsupported", "evidence": ""}]
    elif fault == "shifted":
        labels = [one["pair"] for one in rows]
        rows = [{**one, "pair": label} for one, label in zip(rows, ["p0", *labels[:-1]], strict=True)]
    elif fault == "self-contradicting":
        rows = [{**one, "verdict": "supported", "correct_source": "o00000000"} for one in rows]
    elif fault == "wrong-label":
        rows = [{**one, "verdict": "true"} for one in rows]
    elif fault == "bad-evidence":
        rows = [{**one, "verdict": "supported", "evidence": "words that stand in no source"} for one in rows]
    content = json.dumps({"rows": rows})
    if fault == "not-json":
        content = "The first pair is supported because " + content
    elif fault == "wrong-schema":
        content = json.dumps({"verdicts": rows})
    elif fault == "truncated":
        content, reason = content[: len(content) // 2], "length"
    elif fault == "whitespace":
        content, reason = '{"rows": [{"pair":' + " \n" * 2_000, "length"
    elif fault == "fenced":
        content = f"<think>Two pairs. {{}}</think>\n```json\n{content}\n```\n"
    made = completion(content, reason, body, script.cached)
    if fault == "refusal":
        made["choices"][0]["message"] |= {"content": None, "refusal": "I cannot help with that."}
    elif fault == "no-choices":
        made["choices"] = []
    return made


def _app(server: Server) -> Starlette:
    async def chat(request: Request) -> Response:
        script = server.script
        body = json.loads(await request.body())
        prompt = prompt_of(body)
        number = len(script.requests)
        script.requests.append(body)
        script.prompts.append(prompt)
        script.headers.append(dict(request.headers))
        if request.headers.get("authorization") != f"Bearer {KEY}":
            sent = request.headers.get("authorization", "")
            return _error(401, "invalid_api_key", f"Incorrect API key provided: {sent}. You can find your key at …")
        script.in_flight += 1
        script.most_in_flight = max(script.most_in_flight, script.in_flight)
        try:
            return await _chat(script, number, body, prompt)
        finally:
            script.in_flight -= 1

    async def upload(request: Request) -> Response:
        script = server.script
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = message_from_bytes(head + await request.body()).get_payload()
        content = next(part.get_payload(decode=True) for part in parts if part.get_filename())
        name = f"file-{len(script.files)}"
        script.files[name] = content
        return JSONResponse({"id": name, "object": "file", "bytes": len(content), "created_at": int(time.time()),
                             "filename": "x.jsonl", "purpose": "batch", "status": "processed"})  # fmt: skip

    async def content(request: Request) -> Response:
        script = server.script
        return Response(script.files[request.path_params["id"]])

    async def create(request: Request) -> Response:
        script = server.script
        body = json.loads(await request.body())
        fate = script.batch_create(script.created)
        script.created += 1
        if fate == "down":
            return _error(503, "down", "try later")
        if fate == "refused":
            return _error(400, "bad_request", "no")
        name = f"batch_{len(script.batches)}"
        script.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": body["endpoint"],
            "completion_window": "24h",
            "status": "validating",
            "created_at": int(time.time()),
            "input_file_id": body["input_file_id"],
            "metadata": body.get("metadata"),
            "polled": 0,
        }
        if fate == "lost":
            return StreamingResponse(_broken(), media_type="application/json", headers={"content-length": "1000"})
        await asyncio.sleep(script.delay)
        return JSONResponse(script.batches[name])

    async def retrieve(request: Request) -> Response:
        script = server.script
        batch = script.batches.get(request.path_params["id"])
        if batch is None:
            return _error(404, "not_found", "no such batch")
        batch["polled"] += 1
        if batch["polled"] >= script.polls and batch["status"] in ("validating", "in_progress"):
            _process(script, batch)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return JSONResponse(batch)

    async def listed(request: Request) -> Response:
        script = server.script
        if script.list_down:
            return _error(503, "down", "try later")
        newest = list(script.batches.values())[::-1]
        after = request.query_params.get("after")
        start = 1 + [one["id"] for one in newest].index(after) if after else 0
        page = newest[start : start + 20]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        return JSONResponse({"object": "list", "data": page, "has_more": start + 20 < len(newest), **ends})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/files", upload, methods=["POST"]),
            Route("/v1/files/{id}/content", content),
            Route("/v1/batches", create, methods=["POST"]),
            Route("/v1/batches", listed),
            Route("/v1/batches/{id}", retrieve),
        ]
    )


async def _chat(script: Script, number: int, body: dict[str, Any], prompt: Prompt) -> Response:
    asked_format = body.get("response_format", {}).get("type", "text")
    if asked_format not in script.formats:
        return _error(script.format_status, "error", f"response_format {asked_format} is not supported by this model")
    headers = {}
    if script.limit is not None:
        second = int(time.monotonic())
        script.window = (second, script.window[1] + 1 if script.window[0] == second else 1)
        left = script.limit - script.window[1]
        reset = f"{int((1 - time.monotonic() % 1) * 1000) + 1}ms"
        if script.told:
            headers = {"x-ratelimit-remaining-requests": str(max(0, left)), "x-ratelimit-reset-requests": reset}
        if left < 0:
            script.refused += 1
            wait = {"retry-after-ms": reset.removesuffix("ms")} if script.retry_after else {}
            return _error(429, "rate_limit_exceeded", "slow down", headers | wait)
    if script.delay:
        await asyncio.sleep(script.delay)
    fault = script.fault(number, prompt)
    if fault == "429":
        return _error(429, "rate_limit_exceeded", "slow down")
    if fault == "429-after":
        return _error(429, "rate_limit_exceeded", "slow down", {"retry-after-ms": "30"})
    if fault == "quota":
        return _error(429, "insufficient_quota", "You exceeded your current quota")
    if fault in ("500", "502", "503"):
        return _error(int(fault), "server_error", "internal")
    if fault == "400":
        return _error(400, "invalid_prompt", "this prompt was flagged")
    if fault == "too-large":
        return _error(400, "context_length_exceeded", "This model's maximum context length is 10 tokens")
    if fault == "hang":
        await asyncio.sleep(script.hang)
    if fault == "html":
        return Response("<html>bad gateway</html>", media_type="text/html")
    made = json.dumps(answered(script, number, body, fault, prompt))
    if fault == "cut":
        return StreamingResponse(
            _broken(made[:40].encode()), media_type="application/json", headers={"content-length": "4000"}
        )
    return Response(made, media_type="application/json", headers=headers)


async def _broken(start: bytes = b"{") -> Any:
    yield start
    raise ConnectionResetError("cut on purpose")


def _process(script: Script, batch: dict[str, Any]) -> None:
    """Bring a batch to its end: answers in one file, errors in another, in another order than they were asked."""
    batch["status"] = script.batch_status
    batch["errors"] = {"object": "list", "data": script.batch_errors}
    output, errors = [], []
    lines = [json.loads(text) for text in script.files[batch["input_file_id"]].splitlines()]
    if script.batch_status == "failed":
        lines = []
    for number, line in enumerate(lines):
        fault = script.batch_faults(number)
        prompt = prompt_of(line["body"])
        name = {"id": f"batch_req_{number}", "custom_id": line["custom_id"]}
        if fault == "missing":
            continue
        if fault == "expired":
            errors.append({**name, "response": None, "error": {"code": "batch_expired", "message": "not in time"}})
        elif (asked := line["body"].get("response_format", {}).get("type", "text")) not in script.formats:
            body = {"error": {"code": "bad_request", "message": f"response_format {asked} is not supported"}}
            errors.append({**name, "error": None, "response": {"status_code": script.format_status, "body": body}})
        elif fault in ("error", "too-large"):
            code = "context_length_exceeded" if fault == "too-large" else "server_error"
            status = 400 if fault == "too-large" else 500
            errors.append(
                {**name, "error": None, "response": {"status_code": status, "body": {"error": {"code": code}}}}
            )
        else:
            script.requests.append(line["body"])
            script.prompts.append(prompt)
            made = answered(script, number, line["body"], fault, prompt)
            output.append({**name, "error": None, "response": {"status_code": 200, "request_id": "r", "body": made}})
            if fault == "duplicate-line":
                output.append(output[-1])
            if fault == "two-answers":
                other = answered(script, number, line["body"], "bad-evidence", prompt)
                output.append({**output[-1], "response": {"status_code": 200, "request_id": "r", "body": other}})
            if fault == "foreign-line":
                output.append({**output[-1], "custom_id": "nobody asked this"})
    for kind, found in (("output", output[::-1]), ("error", errors)):
        if found and not (kind == "output" and script.no_output_file):
            name = f"file-{len(script.files)}"
            script.files[name] = b"".join(json.dumps(one).encode() + b"\n" for one in found)
            batch[f"{kind}_file_id"] = name


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message, "type": code}}, status, headers)
