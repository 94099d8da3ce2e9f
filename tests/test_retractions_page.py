"""What docs/retractions.md shows is what the command prints."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support import dyes
from tests.support.nights import verify
from verification_pipeline import cli
from verification_pipeline.config import Registers
from verification_pipeline.dois import precedence, statuses
from verification_pipeline.stages.works import cited_works, remember_registers, sweep_days

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "retractions.md").read_text("utf-8")
SHOWN = re.compile(r"^\$ (.+)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive swept on 10 January 2026 with a clean register, and on 15 January with a retraction."""
    folder = tmp_path_factory.mktemp("page")
    corpus = dyes.archive(folder / "shore", **{"report": "2019-05-01", "review": "2021-05-01"})
    store = verify(folder / "nightly", corpus)
    works = cited_works(store, ["shore"])
    registers = Registers(retraction_watch=folder / "rw.csv")
    for night, rows in ((10, []), (15, [dyes.DYE_RETRACTED])):
        dyes.retractions(folder / "rw.csv", *rows)
        moment = datetime(2026, 1, night, 2, tzinfo=UTC)
        sweep_days(store, works, registers, (moment.date(), moment.date()), None, moment)
    remember_registers(store, registers)
    return folder


def printed(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main()
    return capsys.readouterr().out


def test_the_page_shows_what_is_printed(folder, monkeypatch, capsys):
    shown = SHOWN.findall(PAGE)
    assert len(shown) == 6
    for command, output in shown:
        assert output == printed(command, folder, monkeypatch, capsys), command


def test_every_flag_is_explained():
    code = "".join(Path(str(module.__file__)).read_text("utf-8") for module in (precedence, statuses))
    given = [*re.findall(r'(?:\{|add\(|"title_only", )"([a-z_]+)"[})]', code), "title_only", *precedence._NEWER]
    assert len(given) > 15
    assert not [flag for flag in given if f"`{flag}`" not in PAGE]
