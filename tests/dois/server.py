"""A loopback server that answers as Crossref, PubMed and OpenAlex do, their traps and outages included."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route


@dataclass
class Registers:
    """What the server holds and how it misbehaves.

    `faults` are the first answers of a path prefix, each a status or `hang` or `html`; `log` are the requests made.
    """

    crossref: dict[str, dict[str, Any]] = field(default_factory=dict)
    agencies: dict[str, str] = field(default_factory=dict)
    medline: dict[str, str] = field(default_factory=dict)
    openalex: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    malformed: re.Pattern[str] = re.compile(r"[<>\s]")
    headers: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    url: str = ""

    async def answer(self, request: Request) -> Response:
        """Any request: a fault if one is due, else what the register would say."""
        self.log.append(str(request.url).removeprefix(self.url))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0.01)
            return await self._fault(request) or self._say(request)
        finally:
            self.in_flight -= 1

    async def _fault(self, request: Request) -> Response | None:
        for prefix, due in self.faults.items():
            if request.url.path.startswith(prefix) and due:
                fault = due[0] if due[0] == "always" else due.pop(0)
                if fault == "always":
                    fault = due[1]
                if fault == "hang":
                    await asyncio.sleep(5)
                if fault == "html":
                    return HTMLResponse("<html><body>Service check</body></html>")
                status = fault if isinstance(fault, int) else 503
                wait = {"retry-after": "0"} if status == 429 else {}
                return HTMLResponse(f"<html><body>{status}</body></html>", status, headers=wait)
        return None

    def _say(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith("/crossref/works"):
            return self._crossref(request, path.removeprefix("/crossref/works").strip("/"))
        if path == "/pubmed/efetch.fcgi":
            ids = request.query_params["id"].split(",")
            return PlainTextResponse("\n" + "\n".join(self.medline[one] for one in ids if one in self.medline))
        return self._openalex(request, path.removeprefix("/openalex/works").strip("/"))

    def _crossref(self, request: Request, doi: str) -> Response:
        if not doi:
            asked = [part.removeprefix("doi:") for part in request.query_params["filter"].split(",")]
            if any(self.malformed.search(one) or not one.startswith("10.") for one in asked):
                return JSONResponse({"status": "failed", "message-type": "validation-failure", "message": []}, 400)
            items = [self.crossref[one] for one in asked if one in self.crossref]
            return JSONResponse({"status": "ok", "message": {"items": items}}, headers=self.headers)
        if "select" in request.query_params:
            return JSONResponse({"status": "failed", "message-type": "parameter-not-allowed"}, 400)
        if doi.endswith("/agency"):
            agency = self.agencies.get(doi.removesuffix("/agency"))
            if agency is None:
                return PlainTextResponse("Resource not found.", 404)
            return JSONResponse({"status": "ok", "message": {"agency": {"id": agency}}})
        if doi not in self.crossref:
            return PlainTextResponse("Resource not found.", 404)
        return JSONResponse({"status": "ok", "message": self.crossref[doi]}, headers=self.headers)

    def _openalex(self, request: Request, name: str) -> Response:
        if not request.query_params.get("api_key"):
            return JSONResponse({"error": "key required"}, 401)
        if name:
            item = self.openalex.get(name.removeprefix("doi:"))
            return JSONResponse(item) if item else HTMLResponse("<html>Not found</html>", 404)
        asked = request.query_params["filter"].removeprefix("doi:").split("|")
        return JSONResponse({"results": [self.openalex[one] for one in asked if one in self.openalex]})


@contextlib.contextmanager
def serving(registers: Registers) -> Iterator[Registers]:
    """Serve on a free port of the loopback interface until the block ends."""
    app = Starlette(routes=[Route("/{rest:path}", registers.answer)])
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    registers.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield registers
    finally:
        server.should_exit = True
        thread.join(10)
