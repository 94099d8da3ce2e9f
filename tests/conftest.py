"""Fixtures that several test packages share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.servers import s3
from verification_pipeline import cli

settings.register_profile("busy-machine", deadline=None)
settings.load_profile("busy-machine")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases beside the checkout; tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "cases").is_dir():
        pytest.skip("the shared cases are not beside this checkout")
    return folder


@pytest.fixture(scope="module")
def s3_server() -> Iterator[dict[str, str]]:
    """An S3 server on loopback; gives the variables that lead to it, which are set meanwhile."""
    with s3.serving() as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command in this process; gives exit status, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["verification-pipeline", *map(str, arguments)])
        try:
            cli.main()
            status = 0
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
