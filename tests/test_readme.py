"""What the README shows is what the command prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from verification_pipeline import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readme")


def output(capsys, monkeypatch, folder, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["verification-pipeline", *arguments])
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main()
    return [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]


def shown_after(words):
    """Lines of the first code block after some words."""
    block = README.partition(words)[2].split("```\n", 2)[1]
    return [line.rstrip() for line in block.rstrip().splitlines()]


def test_the_run_ends_as_shown(capsys, monkeypatch, folder):
    printed = output(capsys, monkeypatch, folder, "run", "--out", "out/sample", "--workers", "1")
    assert printed == shown_after("`make run` ends like this:")


def test_the_document_is_shown_as_it_is(capsys, monkeypatch, folder):
    printed = output(capsys, monkeypatch, folder, "show", "tidal-power", "--out", "out/sample")
    shown = shown_after("shows one document")
    assert shown[-1] == "…"
    moment = re.compile(r"receipt \w+,|\d{4}-\d\d-\d\dT\S+")
    assert [moment.sub("", line) for line in shown[:-1]] == [moment.sub("", line) for line in printed[: len(shown) - 1]]


@pytest.mark.parametrize("name", re.findall(r"`(docs/[\w./-]+|sql/|data/|[\w./-]+\.(?:yaml|toml|md))`", README))
def test_files_that_it_names_are_there(name):
    assert (ROOT / name).exists() or name in ("corpus.toml", "settings.toml", "waivers.toml")


@pytest.mark.parametrize("command", sorted({*re.findall(r"verification-pipeline ([a-z-]+) ", README)}))
def test_commands_that_it_names_exist(command):
    names = {one.name or one.callback.__name__ for one in cli.app.registered_commands}
    assert command in names


def test_every_command_says_what_it_does():
    for command in cli.app.registered_commands:
        assert command.callback.__doc__
        assert (command.name or command.callback.__name__) in README
