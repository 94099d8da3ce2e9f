"""A checker beside a scripted server, for the tests of the LLM checker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.servers.scripted import KEY, Script, Server, serving
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.config import OpenAI

SECRET = "5a" * 32


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests."""
    with serving() as server:
        yield server


@pytest.fixture
def serve(server: Server) -> Callable[..., Server]:
    """Give the server a new script."""

    def made(script: Script | None = None) -> Server:
        server.script = script or Script()
        return server

    return made


@pytest.fixture
def checker_for(tmp_path, monkeypatch) -> Callable[..., LLMChecker]:
    """A checker that asks a server, on a folder of the test; settings by name."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def made(server: Server, **settings) -> LLMChecker:
        quick = {"backoff_seconds": 0.01, "timeout_seconds": 5, "batch_settle_seconds": 0, "model": "gpt-4.1-mini"}
        more = {name: settings.pop(name) for name in ("run",) if name in settings}
        rules = OpenAI(base_url=server.base_url, **{**quick, **settings})
        return LLMChecker(rules, SECRET, tmp_path / "llm", **more)

    return made
