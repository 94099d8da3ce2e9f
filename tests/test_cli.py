from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.servers.scripted import KEY, serving
from tests.support.corpora import MILL, PIER, SOURCES, harbour, write_folder
from verification_pipeline.store import Store


@pytest.fixture
def night(command, tmp_path):
    """A verified corpus: the command, its store's folder, the corpus."""
    corpus, out = harbour(tmp_path / "harbour"), tmp_path / "out"
    status, said, _ = command("run", corpus, "--out", out, "--workers", 1, "--json")
    assert status == 0
    return command, out, corpus, json.loads(said)


def files(out: Path) -> dict[str, bytes]:
    changing = {".lock", ".holder", "metrics.parquet", "runs.parquet", "verification.duckdb", "fleet.html"}
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in changing
    }


def test_a_run_accounts_for_every_pair(night):
    _, out, _, summary = night
    assert summary["documents"] == 2
    assert summary["dangling"] == 1
    assert summary["pairs"] == sum(summary[name] for name in ("auto_passed", "checked", "not_checked", "dangling"))
    assert summary["quotes"] == {"verified": 1}
    receipts = [json.loads(path.read_text()) for path in (out / "receipts").glob("*.json")]
    assert {(one["document_id"], one["passed"]) for one in receipts} == {("pier", False), ("mill", True)}


def test_an_unchanged_night_leaves_digests_and_files(night):
    command, out, corpus, summary = night
    before = files(out)
    status, said, _ = command("run", corpus, "--out", out, "--workers", 1, "--json")
    assert status == 0
    assert {**json.loads(said), "run_id": None} == {**summary, "run_id": None}
    assert files(out) == before
    assert Store.open(out).read("runs").height == 2


def test_workers_give_the_same_files(night, tmp_path):
    command, out, corpus, _ = night
    command("run", corpus, "--out", tmp_path / "two", "--workers", 2)
    named_by_run = ("receipts", "tables/receipts", "tables/doi_", "tables/changes", "store.json")
    ours, theirs = (
        {name: body for name, body in files(folder).items() if not name.startswith(named_by_run)}
        for folder in (out, tmp_path / "two")
    )
    assert ours == theirs
    digests = [
        Store.open(folder).read_all("receipts", ["document_key", "digest"]) for folder in (out, tmp_path / "two")
    ]
    assert digests[0].equals(digests[1])


def test_an_edited_document_is_the_only_one_that_changes(night):
    command, out, corpus, _ = night
    (corpus / "documents" / "mill.md").write_text(MILL.replace("three", "five"), "utf-8")
    before = files(out)
    assert command("run", corpus, "--out", out, "--workers", 1)[0] == 0
    after = files(out)
    moved = {name for name in after if name.startswith("receipts/") and before.get(name) != after[name]}
    assert len(moved) == 1
    _, said, _ = command("changes", "--out", out, "--json")
    rows = [json.loads(line) for line in said.splitlines()]
    assert {row["document_id"] for row in rows} == {"mill"}
    assert {row["cause"] for row in rows} == {"document edited"}


def test_a_document_that_is_gone_leaves_its_receipt_and_one_row(night):
    command, out, corpus, _ = night
    (corpus / "documents" / "mill.md").unlink()
    assert command("run", corpus, "--out", out, "--workers", 1)[0] == 0
    _, said, _ = command("changes", "--out", out, "--json")
    rows = [json.loads(line) for line in said.splitlines()]
    assert [(row["what"], row["after"]) for row in rows] == [("document", "removed")]
    store = Store.open(out)
    assert store.read_all("documents").height == 1
    assert store.read_all("receipts").height == 2
    assert store.read_all("receipts").filter(pl.col("current")).height == 1


def test_a_source_that_drifts_is_named_as_the_cause(night):
    command, out, corpus, _ = night
    drifted = [{**SOURCES[0], "text": SOURCES[0]["text"].replace("120", "130")}, *SOURCES[1:]]
    write_folder(corpus, {"pier": PIER, "mill": MILL}, drifted)
    assert command("run", corpus, "--out", out, "--workers", 1)[0] == 0
    _, said, _ = command("changes", "--out", out, "--json")
    rows = [json.loads(line) for line in said.splitlines()]
    assert {(row["document_id"], row["cause"]) for row in rows} == {("pier", "source drifted")}
    assert any(row["what"] == "pair" for row in rows)


def test_only_named_documents_are_worked_on(night):
    command, out, corpus, _ = night
    for name, text in (("pier", PIER), ("mill", MILL)):
        (corpus / "documents" / f"{name}.md").write_text(text + "\nAnother line.\n", "utf-8")
    command("run", corpus, "--out", out, "--workers", 1, "--document", "mill")
    _, said, _ = command("changes", "--out", out, "--json")
    assert {json.loads(line)["document_id"] for line in said.splitlines()} <= {"mill"}


def test_the_gate_speaks_by_exit_status(night):
    command, out, corpus, _ = night
    assert command("run", corpus, "--out", out, "--workers", 1, "--gate")[0] == 1
    (corpus / "documents" / "pier.md").unlink()
    assert command("run", corpus, "--out", out, "--workers", 1, "--gate")[0] == 0


def test_without_any_register_no_work_is_ok(night):
    _, _, _, summary = night
    assert set(summary["works"]) == {"unavailable"}


def test_a_receipt_can_be_checked_by_somebody_who_does_not_trust_it(night, tmp_path):
    command, out, _, _ = night
    path = next((out / "receipts").glob("*pier*.json"))
    assert command("verify-receipt", path, "--out", out)[0] == 0
    forged = json.loads(path.read_text())
    forged["cite_check"]["rows"][0]["evidence"] = "The pier is 130 m long."
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    status, said, _ = command("verify-receipt", tmp_path / "forged.json", "--out", out)
    assert status == 1
    assert "digest" in said


def test_show_findings_and_sql_read_the_store(night):
    command, out, _, summary = night
    assert "pier" in command("show", "pier", "--out", out)[1]
    assert json.loads(command("show", "harbour/pier", "--out", out, "--json")[1])["document_id"] == "pier"
    found = json.loads(command("findings", "--out", out)[1])
    assert all(one["verdict"] != "supported" for one in found)
    status, said, _ = command("sql", "SELECT count(*) AS n FROM pairs", "--out", out, "--json")
    assert (status, json.loads(said)) == (0, {"n": summary["pairs"]})


def test_what_is_piped_is_cut_nowhere_and_stays_one_line_a_row(night, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # what a person sets wins
    command, out, _, _ = night
    long = "SELECT repeat('word ', 60) AS a, 'two\nlines' AS b, [1, 2] AS c, NULL AS d, '\u6e2f\u6e7e' AS e"
    status, said, _ = command("sql", long, "--out", out)
    assert status == 0
    head, row = said.splitlines()
    assert head.split() == ["a", "b", "c", "d", "e"]
    assert row.startswith("word " * 60)
    assert "two lines  [1, 2]" in row
    assert len(command("changes", "--out", out)[1].splitlines()) == 1 + len(
        command("changes", "--out", out, "--json")[1].splitlines()
    )
    longest = max(command("show", "pier", "--out", out)[1].splitlines(), key=len)
    assert 80 < len(longest) <= 120


def test_sql_knows_the_shipped_queries_and_their_parameters(night):
    command, out, _, summary = night
    listed = command("sql", "--out", out)[1]
    assert "views/coverage" in listed
    status, said, _ = command("sql", "analyses/statuses_on_day", "--param", "day=2100-01-01", "--out", out, "--csv")
    assert (status, said.splitlines()[0].split(",")[0]) == (0, "work_id")
    assert len(said.splitlines()) == 1 + sum(summary["works"].values())
    for wrong in (("--param", "day"), ()):
        status, _, error = command("sql", "analyses/statuses_on_day", *wrong, "--out", out)
        assert status == 2
        assert "day" in error


def test_sql_can_not_write_or_read_other_files(night, tmp_path):
    command, out, _, _ = night
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for statement in ("DROP TABLE pairs", f"SELECT * FROM '{tmp_path}/secret.csv'", "SELEC 1"):
        status, said, error = command("sql", statement, "--out", out)
        assert (status, said) == (2, "")
        assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("coverage",), "perhaps views/coverage"),
        (("views/coverag",), "perhaps views/coverage"),
        (("zzz",), "`sql` alone"),
        (("",), "one statement"),
        (("SELECT 1; SELECT 2",), "one statement"),
        (("views/coverage", "--csv", "--json"), "not both"),
        (("analyses/statuses_on_day", "--param", "dy=2100-01-01"), "--param day=…"),
    ],
)
def test_a_question_that_cannot_be_asked_says_how_to_ask(night, arguments, words):
    command, out, _, _ = night
    status, said, error = command("sql", *arguments, "--out", out)
    assert (status, said, len(error.splitlines())) == (2, "", 1)
    assert words in error


@pytest.mark.parametrize("body", ["", "[]", "[" * 100_000, "\x00"])
def test_what_is_no_receipt_is_one_clear_line(command, tmp_path, body):
    (tmp_path / "receipt.json").write_text(body)
    status, said, error = command("verify-receipt", tmp_path / "receipt.json", "--out", tmp_path / "out")
    assert (status, said, len(error.splitlines())) == (2, "", 1)
    assert "is no receipt" in error


def test_help_alone_is_printed_as_it_is(command):
    status, _, error = command()
    assert (status, error.splitlines()[0]) == (2, "Usage: verification-pipeline [OPTIONS] COMMAND [ARGS]...")


def test_an_empty_place_is_not_this_folder(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, error = command("run", "--out", "")
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert "--out is empty" in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nowhere"), "does not exist"),
        (("run", "--sample", "1.5"), "--sample"),
        (("run", "--checker", "oracle"), "checker.kind"),
        (("run", "--config", "absent.toml"), "absent.toml"),
        (("changes",), "holds no store"),
        (("show", "x"), "holds no store"),
        (("sql", "SELECT 1"), "holds no store"),
        (("sweep", "absent.txt", "--as-of", "spring"), "--as-of"),
        (("run", "--workers", "0"), "'--workers'"),
        (("prune", "--keep-nights", "none"), "see verification-pipeline prune --help"),
        (("reshard",), "--shards"),
        (("run", "--nosuch"), "--nosuch"),
        (("verify-receipt", "absent.json"), "absent.json cannot be read: No such file"),
    ],
)
def test_bad_input_is_one_clear_line(command, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, said, error = command(*arguments, "--out", tmp_path / "out")
    assert (status, said) == (2, "")
    assert words in error
    assert len(error.strip().splitlines()) == 1


def test_an_estimate_sends_nothing_and_grades_nothing(command, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    corpus, out = harbour(tmp_path / "harbour"), tmp_path / "out"
    asked = ("run", corpus, "--out", out, "--workers", 1, "--estimate", "--json")
    status, said, _ = command(*asked, "--checker", "openai")
    found = json.loads(said)
    assert (status, found["answered"], found["pending"]) == (0, 0, 0)
    assert found["pairs"] >= found["requests"] >= 1
    assert found["cents"] > 0
    assert not Store.open(out).files("verdicts")
    status, _, error = command(*asked, "--checker", "none")
    assert status == 2
    assert "--checker openai" in error


def test_a_run_says_what_it_paid_a_model(command, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as server:
        settings = tmp_path / "settings.toml"
        settings.write_text(f'[checker.openai]\nbase_url = "{server.base_url}"\n', "utf-8")
        asked = ("run", harbour(tmp_path / "harbour"), "--out", tmp_path / "out", "--workers", 1, "--config", settings)
        status, said, _ = command(*asked, "--checker", "openai")
        (line,) = [line for line in said.splitlines() if line.startswith("  model ")]
        assert status == 0
        assert f"gpt-4.1-mini, online: {len(server.script.requests)} requests, 0." in line
        status, said, _ = command(*asked, "--checker", "openai", "--json")
    assert json.loads(said)["spending"] == [], "an unchanged night pays nothing"


def test_a_model_without_a_key_is_one_clear_line(command, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = ("--out", tmp_path / "out", "--checker", "openai", "--workers", 1)
    status, said, error = command("run", harbour(tmp_path / "harbour"), *options)
    assert (status, said) == (2, "")
    assert "OPENAI_API_KEY" in error


@pytest.mark.parametrize(
    ("error", "status", "lines", "words"),
    [
        (FileNotFoundError(2, "No such file or directory", "/mnt/x.jsonl"), 2, 1, "/mnt/x.jsonl: No such file"),
        (MemoryError(), 3, 1, "fewer --workers"),
        (KeyError("a fault of ours"), 70, None, "KeyError: 'a fault of ours'"),
    ],
)
def test_what_nobody_foresaw_has_its_own_status(command, tmp_path, monkeypatch, error, status, lines, words):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("assets.inventory.take_inventory", fail)
    found, _, said = command("run", harbour(tmp_path / "harbour"), "--out", tmp_path / "out", "--workers", 1, "--gate")
    assert found == status
    assert words in said
    assert lines in (None, len(said.splitlines()))


def test_a_night_says_which_register_did_not_answer(command, tmp_path):
    text = "A trial found it [1].\n\n[1] Smith. https://doi.org/10.5555/abs.2019.17\n"
    corpus = write_folder(tmp_path / "notes", {"a": text}, [])
    (tmp_path / "settings.toml").write_text('[registers]\nretraction_watch = "absent.csv"\n', "utf-8")
    asked = ("run", corpus, "--out", tmp_path / "out", "--workers", 1, "--config", tmp_path / "settings.toml")
    status, said, error = command(*asked)
    assert (status, len(error.splitlines())) == (0, 1)
    assert "register retraction-watch did not answer for 1 of 1 works (file cannot be read: No such file" in error
    assert "works       1 unavailable" in said


def test_a_store_that_is_held_says_who_holds_it(night):
    command, out, corpus, _ = night
    with Store.open(out).locked():
        status, _, error = command("run", corpus, "--out", out)
    assert status == 3
    assert f"process {os.getpid()}" in error


def test_a_sweep_of_a_list_says_what_it_could_not_ask(command, tmp_path):
    (tmp_path / "dois.txt").write_text("# works\n10.5555/abc\nnot a doi\n\n")
    status, said, error = command("sweep", tmp_path / "dois.txt", "--out", tmp_path / "out", "--json")
    assert status == 0
    assert [json.loads(line)["status"] for line in said.splitlines()] == ["unavailable"]
    assert "not a doi" in error


def test_start_up_needs_no_orchestrator():
    code = "import sys; import verification_pipeline.cli; sys.exit('dagster' in sys.modules or 'openai' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def pages(out: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in (out / "receipts").glob("*.html")}


def test_pages_stand_beside_their_receipts_and_are_written_only_when_they_change(night):
    command, out, corpus, _ = night
    assert pages(out) == {}
    assert command("run", corpus, "--out", out, "--workers", 1, "--html")[0] == 0
    first = pages(out)
    assert {Path(name).stem for name in first} == {path.stem for path in (out / "receipts").glob("*.json")}
    assert command("run", corpus, "--out", out, "--workers", 1, "--html")[0] == 0
    assert pages(out) == first
    (corpus / "documents" / "mill.md").write_text(MILL.replace("three", "five"), "utf-8")
    command("run", corpus, "--out", out, "--workers", 1)  # a page that is there is kept true
    second = pages(out)
    assert [name for name in first if first[name] != second[name]] == [name for name in first if "mill" in name]
    assert b"five" in next(body for name, (_, body) in second.items() if "mill" in name)


def test_one_receipt_as_a_page_on_demand(night, tmp_path):
    command, out, corpus, _ = night
    assert command("show", "pier", "--out", out, "--html", tmp_path / "pier.html") == (0, "", "")
    command("run", corpus, "--out", out, "--workers", 1, "--html")
    body = next(body for name, (_, body) in pages(out).items() if "pier" in name)
    assert (tmp_path / "pier.html").read_bytes() == body
    status, _, error = command("show", "pier", "--out", out, "--html", tmp_path / "absent" / "pier.html")
    assert (status, len(error.splitlines())) == (2, 1)
