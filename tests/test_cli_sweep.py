"""The command `sweep`, end to end: what it asks, prints and refuses, and that no outage turns a work `ok`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.dois import register
from tests.dois.server import Registers as Server
from tests.dois.server import serving
from tests.support import dyes
from verification_pipeline.store import Store

Command = Callable[..., tuple[int, str, str]]
GONE, FINE, NEW = "10.5555/gone", "10.5555/fine", "10.5555/new"
TODAY = datetime.now(UTC).date()


@pytest.fixture
def command(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command in an empty folder, without keys, on a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENALEX_API_KEY", raising=False)
    return command


@pytest.fixture
def archive(command: Command, tmp_path: Path) -> Path:
    """A verified archive whose two documents cite a retracted paper."""
    corpus = dyes.archive(tmp_path / "c", early="2019-05-01", late="2021-05-01")
    dyes.retractions(tmp_path / "rw.csv", dyes.DYE_RETRACTED)
    (tmp_path / "settings.toml").write_text('[registers]\nretraction_watch = "rw.csv"\n')
    assert command("run", corpus, "--out", "out", "--config", "settings.toml", "--workers", 1)[0] == 0
    return tmp_path / "out"


def rows(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def statuses(said: str) -> dict[str, str]:
    return {row["doi"]: row["status"] for row in rows(said)}


# --- days, and what is printed ----------------------------------------------------------------------------------


def test_a_sweep_of_the_store_asks_the_registers_of_the_last_night(command: Command, archive: Path):
    documents = {path: path.read_bytes() for path in (archive / "receipts").iterdir()}
    status, said, error = command("sweep", "--out", archive, "--json")
    assert (status, error) == (0, "")
    assert statuses(said) == {dyes.DYE: "retracted", dyes.TIDE: "ok"}
    cited = {row["doi"]: row["documents"] for row in rows(said)}
    assert cited[dyes.TIDE] is None
    assert [(one["document_id"], one["cited_when"]) for one in cited[dyes.DYE]] == [
        ("early", "before"),
        ("late", "after"),
    ]
    assert {path: path.read_bytes() for path in documents} == documents


def test_tables_name_the_documents(command: Command, archive: Path):
    status, said, _ = command("sweep", "--out", archive)
    assert status == 0
    assert [line.split() for line in said.splitlines()] == [
        ["work_id", "status", "date", "notice_url", "registers"],
        [f"doi:{dyes.DYE}", "retracted", "2020-03-01", "https://doi.org/10.5555%2Fnotice.1", "retraction-watch"],
        [f"doi:{dyes.TIDE}", "ok", "retraction-watch"],
        ["Works:", "1", "ok,", "1", "retracted."],
        [],
        ["Documents", "that", "cite", "a", "retracted", "work:"],
        [],
        ["corpus", "document_id", "document_date", "work_id", "notice_date", "cited_when", "noted_in_document"],
        ["c", "early", "2019-05-01", f"doi:{dyes.DYE}", "2020-03-01", "before", "False"],
        ["c", "late", "2021-05-01", f"doi:{dyes.DYE}", "2020-03-01", "after", "False"],
    ]


def test_a_narrow_terminal_cuts_no_identifier(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    doi = f"10.5555/{'x' * 90}"
    (tmp_path / "dois.txt").write_text(doi)
    assert f"doi:{doi}" in command("sweep", "dois.txt", "--out", "out")[1]
    (tmp_path / "dois.txt").write_text("# nothing\n")
    assert command("sweep", "dois.txt", "--out", "out") == (0, "Works: none.\n", "")


def test_a_range_prints_its_periods_and_fills_them_in(command: Command, archive: Path):
    status, said, _ = command("sweep", "--out", archive, "--as-of", "2019-01-01..2021-06-30", "--json")
    assert status == 0
    told = [(row["doi"], row["status"], row["valid_from"], row["valid_to"]) for row in rows(said)]
    assert told == [
        (dyes.DYE, "ok", "2019-01-01", "2020-03-01"),
        (dyes.DYE, "retracted", "2020-03-01", None),
        (dyes.TIDE, "ok", "2019-01-01", None),
    ]
    assert [len(row["documents"] or []) for row in rows(said)] == [0, 2, 0]
    asked = "SELECT count(*) AS n FROM doi_statuses WHERE valid_from = DATE '2020-03-01' AND status = 'retracted'"
    assert rows(command("sql", asked, "--out", archive, "--json")[1]) == [{"n": 1}]
    assert statuses(command("sweep", "--out", archive, "--as-of", "2020-02-29", "--json")[1])[dyes.DYE] == "ok"
    assert "became retracted:" in command("sweep", "--out", archive, "--as-of", "2020-03-01..2020-03-02")[1]
    assert "became" not in command("sweep", "--out", archive, "--as-of", "2020-03-02..2020-03-03")[1]


def test_what_was_known_before_the_first_night_is_nothing(command: Command, archive: Path):
    yesterday = TODAY - timedelta(days=1)
    status, said, _ = command("sweep", "--out", archive, "--known-at", yesterday, "--json")
    assert status == 0
    assert {(row["status"], row["reason"]) for row in rows(said)} == {("unavailable", "retraction-watch not asked")}
    assert {row["valid_from"] for row in rows(said)} == {yesterday.isoformat()}
    assert statuses(command("sweep", "--out", archive, "--known-at", TODAY, "--json")[1])[dyes.DYE] == "retracted"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--as-of", "2020-01-02..2020-01-01"), "run backwards"),
        (("--as-of", "2020-01-02..spring"), "--as-of 'spring' is no ISO day"),
        (("--as-of", "2999-01-01"), "has not come yet"),
        (("--known-at", "2999-01-01"), "not come yet"),
        (("--known-at", "soon"), "--known-at 'soon' is no ISO day"),
        (("--config", "absent.toml"), "absent.toml"),
    ],
)
def test_what_cannot_be_swept_is_one_clear_line(command: Command, archive: Path, arguments, words):
    status, said, error = command("sweep", "--out", archive, *arguments)
    assert (status, said) == (2, "")
    assert words in error
    assert len(error.splitlines()) == 1


def test_a_store_without_registers_says_which_options_name_some(command: Command, tmp_path: Path):
    corpus = dyes.archive(tmp_path / "c", d="2019-05-01")
    assert command("run", corpus, "--out", "out", "--workers", 1)[0] == 0
    status, said, error = command("sweep", "--out", "out")
    assert (status, said) == (2, "")
    assert all(option in error for option in ("--retraction-watch", "--online", "--config"))


def test_a_list_that_cannot_be_read_leaves_no_store(command: Command, tmp_path: Path):
    assert command("sweep", "absent.txt", "--out", "new")[0] == 2
    assert not (tmp_path / "new").exists()


# --- outages ----------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Crossref and OpenAlex with one retracted paper, one sound one, and the canary; a settings file for them."""
    canary = "10.5555/canary"
    by = [{"DOI": "10.5555/n", "type": "retraction", "source": "publisher", "updated": {"date-parts": [[2020, 6, 1]]}}]
    made = {doi: {"DOI": doi, "title": ["On tides"]} for doi in (FINE, NEW)}
    made |= {doi: {"DOI": doi, "title": ["On dyes"], "updated-by": by} for doi in (GONE, canary)}
    flags = {doi: {"doi": f"https://doi.org/{doi}", "is_retracted": doi in (GONE, canary)} for doi in made}
    with serving(Server(crossref=made, openalex=flags)) as running:
        (tmp_path / "online.toml").write_text(
            f'[registers]\ncanaries = ["{canary}"]\nattempts = 2\nbackoff_seconds = 0.01\ntimeout_seconds = 0.5\n'
            f'fresh_hours = 0\nfailures_until_down = 2\nmailto = "desk@example.org"\n'
            f'crossref_url = "{running.url}/crossref"\npubmed_url = "{running.url}/pubmed"\n'
            f'openalex_url = "{running.url}/openalex"\n'
        )
        yield running


def swept(command: Command, dois: tuple[str, ...], *options: object) -> tuple[int, dict[str, dict[str, Any]], str]:
    Path("dois.txt").write_text("\n".join(dois))
    status, said, error = command("sweep", "dois.txt", "--out", "out", "--json", *options)
    return status, {row["doi"]: row for row in rows(said)}, error


def stored_ok(folder: str = "out") -> set[str]:
    """DOIs that the store calls `ok` now, without saying that the answer is old."""
    table = Store.open(Path(folder)).read("doi_statuses")
    return set(table.filter(table["valid_to"].is_null() & (table["status"] == "ok") & ~table["stale"])["doi"])


def test_online_asks_politely_and_openalex_only_with_its_key(command: Command, server: Server, monkeypatch):
    status, found, error = swept(command, (GONE, FINE), "--online", "--config", "online.toml")
    assert status == 0
    assert {doi: row["status"] for doi, row in found.items()} == {GONE: "retracted", FINE: "ok"}
    assert found[FINE]["registers"] == ["crossref"]
    assert "openalex is not asked: no key in OPENALEX_API_KEY" in error
    assert all("mailto=desk%40example.org" in line for line in server.log)
    monkeypatch.setenv("OPENALEX_API_KEY", "a-key")
    status, found, error = swept(command, (GONE, FINE), "--online", "--config", "online.toml")
    assert (status, error) == (0, "")
    assert found[FINE]["registers"] == ["crossref", "openalex"]
    assert not any(b"a-key" in path.read_bytes() for path in Path("out").rglob("*") if path.is_file())


@pytest.mark.parametrize("fault", [503, "hang", "html"])
def test_a_server_that_is_down_turns_nothing_ok(command: Command, server: Server, fault: int | str):
    assert swept(command, (GONE, FINE), "--online", "--config", "online.toml")[0] == 0
    server.faults["/crossref"] = ["always", fault]
    status, found, error = swept(command, (GONE, FINE, NEW), "--online", "--config", "online.toml")
    assert status == 3
    assert "register down: crossref" in error
    assert {doi: (row["status"], row["stale"]) for doi, row in found.items()} == {
        GONE: ("retracted", True),
        FINE: ("ok", True),
        NEW: ("unavailable", False),
    }
    assert "stale" in found[FINE]["flags"]
    assert stored_ok() == set()
    server.faults.clear()
    status, found, error = swept(command, (GONE, FINE, NEW), "--online", "--config", "online.toml")
    assert (status, {doi: row["status"] for doi, row in found.items()}) == (
        0,
        {GONE: "retracted", FINE: "ok", NEW: "ok"},
    )
    assert not any(row["stale"] for row in found.values())


def test_an_outage_on_the_first_sweep_leaves_every_work_unavailable(command: Command, server: Server):
    server.faults["/crossref"] = ["always", 503]
    status, found, _ = swept(command, (GONE, FINE), "--online", "--config", "online.toml")
    assert status == 3
    assert {row["status"] for row in found.values()} == {"unavailable"}
    assert all("failed:HTTP 503" in row["reason"] for row in found.values())


def test_a_canary_that_reads_as_sound_is_an_outage(command: Command, server: Server):
    del server.crossref["10.5555/canary"]["updated-by"]
    status, found, error = swept(command, (GONE, FINE), "--online", "--config", "online.toml")
    assert status == 3
    assert "canary not retracted: 10.5555/canary" in error
    assert {row["status"] for row in found.values()} == {"unavailable"}


def whole() -> bytes:
    rows = [{"OriginalPaperDOI": f"10.5555/p.{n}", "RetractionDOI": f"10.5555/n.{n}"} for n in range(40)]
    return register.content([*rows, {"OriginalPaperDOI": GONE, "RetractionDOI": "10.5555/n.gone"}])


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "html": lambda _: b"<!DOCTYPE html><html><body>503 Service Unavailable</body></html>",
    "empty": lambda _: b"",
    "header only": lambda body: body.split(b"\n", 1)[0] + b"\n",
    "truncated": lambda body: body[: len(body) * 2 // 3],
    "cut in the last row": lambda body: body[:-20],
    "half": lambda body: b"\n".join(body.split(b"\n")[:20]) + b"\n",
    "wrong header": lambda body: body.replace(b"OriginalPaperDOI", b"DOI", 1),
    "columns lost": lambda body: b"\n".join(line.split(b",", 1)[-1] for line in body.split(b"\n")),
    "not text": lambda body: bytes(255 - byte for byte in body),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_register_file_turns_nothing_ok(command: Command, damage: Callable[[bytes], bytes]):
    path, known = Path("rw.csv"), (GONE, FINE, *(f"10.5555/p.{n}" for n in range(40)))
    path.write_bytes(whole())
    assert swept(command, known, "--retraction-watch", path)[0] == 0
    before = Store.open(Path("out")).read("doi_notices")
    path.write_bytes(damage(whole()))
    status, found, error = swept(command, (*known, NEW), "--retraction-watch", path)
    assert status == 3
    assert "register down: retraction-watch" in error
    assert len(error.splitlines()) == 1
    assert {doi for doi, row in found.items() if row["status"] == "retracted"} == set(known) - {FINE}
    assert (found[FINE]["status"], found[FINE]["stale"]) == ("ok", True)
    assert found[NEW]["status"] == "unavailable"
    assert {row["stale"] for doi, row in found.items() if doi != NEW} == {True}
    assert stored_ok() == set()
    assert Store.open(Path("out")).read("doi_notices").equals(before)


def test_a_register_file_that_is_not_there_is_an_outage(command: Command):
    status, found, error = swept(command, (FINE,), "--retraction-watch", "absent.csv")
    assert (status, found[FINE]["status"]) == (3, "unavailable")
    assert "absent.csv" not in error or len(error.splitlines()) == 1


def test_one_register_down_beside_one_that_answers_is_not_ok(command: Command, server: Server):
    Path("rw.csv").write_bytes(whole())
    options = ("--online", "--config", "online.toml", "--retraction-watch", "rw.csv")
    server.faults["/crossref"] = ["always", 503]
    status, found, _ = swept(command, (GONE, FINE), *options)
    assert status == 3
    assert (found[FINE]["status"], found[GONE]["status"]) == ("unavailable", "retracted")
    assert "crossref failed" in found[FINE]["reason"]
    assert "incomplete" in found[GONE]["flags"]
