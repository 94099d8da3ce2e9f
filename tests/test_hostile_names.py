"""Names and texts made to break things: through the command, JSON, HTML, and SQL, nothing breaks and nothing runs."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import duckdb
import pytest

from tests.receipts.test_page import Page
from verification_pipeline import cli
from verification_pipeline.receipts import verify_receipt
from verification_pipeline.store import Store

OBEYED = set("\x00\x1b\u202e\u2028\u2029\u2067")
SCRIPT = "</script><script>alert(1)</script>"
NAMES = [
    "plain",
    "Plain",
    "PLAIN",
    "straße",
    "STRASSE",
    "quote'; DROP TABLE documents; --",
    'double "quotes" ; ;',
    SCRIPT,
    "<img src=x onerror=alert(1)>",
    "line\u2028separator\u2029paragraph",
    "nul\x00inside",
    "override \u202egpj.exe\u202c done",
    "isolate \u2067x\u2069",
    "../../outside",
    "/absolute",
    "C:\\windows\\nul",
    "CON",
    "con.json",
    "new\nline\ttab",
    "escape \x1b[31mred",
    "{{ 7 * 7 }} {% raw %}",
    "%s %(x)s $1 `id`",
    "2024-05-01",
    "007",
    " lead and trail ",
    ".",
    "..",
    "é",
    "e\u0301",
    "\U0001f9ea" * 40,
    "n" * 300,
    "N" * 300,
    "n" * 299 + "m",
]


def document(name: str) -> dict[str, object]:
    text = (
        f"{name} says that the pier is 120 m long [1]. It is {name} [2].\n\n" + f'"{name} is quoted here in full" [1].'
    )
    sources = [
        {
            "id": "1",
            "n": 1,
            "title": name,
            "url": f"javascript:{name}",
            "text": f"The pier is 120 m long, says {name}.",
        },
        {"id": name, "n": 2, "title": SCRIPT, "text": f"{SCRIPT} {name}"},
    ]
    return {"id": name, "title": name, "markdown": text, "sources": sources}


def command(patch: pytest.MonkeyPatch, *arguments: object) -> None:
    patch.setattr(sys, "argv", ["verification-pipeline", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The store of an archive of hostile names, after two nights."""
    root = tmp_path_factory.mktemp("hostile")
    corpus = root / "hostile's; <b>archive.jsonl"
    corpus.write_text("".join(json.dumps(document(name)) + "\n" for name in NAMES), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(2):
            command(patch, "run", corpus, "--out", root / "out", "--workers", 1, "--html", "--json")
    return root / "out"


@pytest.fixture(scope="module")
def receipts(out) -> dict[str, dict]:
    found = [json.loads(path.read_bytes()) for path in (out / "receipts").glob("*.json")]
    return {one["document_id"]: one for one in found}


def test_every_document_has_its_own_files_on_any_file_system(out, receipts):
    assert set(receipts) == set(NAMES)
    for suffix in ("json", "html"):
        files = [path.name for path in (out / "receipts").glob(f"*.{suffix}")]
        assert len({name.casefold() for name in files}) == len(files) == len(NAMES)
        assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*\.(json|html)", name) for name in files)
        assert max(map(len, files)) < 120
    assert {path.parent for path in out.rglob("*.html")} <= {out, out / "receipts"}
    assert not list(out.parent.glob("outside*"))


def test_every_receipt_is_whole(out, receipts):
    store = Store.open(out)
    for name, receipt in receipts.items():
        assert receipt["document"]["title"] == name.strip()
        assert verify_receipt(receipt, store.text) == []


def test_no_page_runs_or_loads_anything(out):
    for path in (out / "receipts").glob("*.html"):
        html = path.read_text("utf-8")
        page = Page(html)
        assert not page.open
        assert html.count("<script") == 1
        assert {tag for tag, _ in page.elements}.isdisjoint(
            {"img", "iframe", "object", "embed", "form", "base", "link"}
        )
        attributes = [(name, value or "") for _, attrs in page.elements for name, value in attrs.items()]
        assert not [name for name, _ in attributes if name.startswith("on")]
        assert not [value for name, value in attributes if name == "href" and not value.startswith(("#", "https://"))]
        assert not set("\x00\x1b\u202e\u2067") & set(html)
        assert "49 " not in page.text.split("says that", 1)[0]  # {{ 7 * 7 }} stays as it was written


def test_sql_finds_each_by_its_name(out):
    with duckdb.connect(str(out / "verification.duckdb"), read_only=True) as connection:
        for name in NAMES:
            found = connection.execute(
                "SELECT d.document_id, s.source_id FROM documents AS d JOIN sources AS s USING (document_key) "
                "WHERE d.document_id = $name AND s.source_id = $name",
                {"name": name},
            ).fetchall()
            assert found == [(name, name)]
        assert connection.execute("SELECT count(*) FROM current_receipts").fetchone() == (len(NAMES),)
        assert connection.execute("SELECT count(*) FROM changes").fetchone() == (len(NAMES),)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_shows_each(out, name, monkeypatch, capsys):
    for extra in ([], ["--json"]):
        command(monkeypatch, "show", "--out", out, *extra, "--", name)
        said = capsys.readouterr().out
        assert not set("\x00\x1b\u202e") & set(said)
        if extra:
            assert json.loads(said)["document_id"] == name


def test_lists_stay_one_line_a_row(out, monkeypatch, capsys):
    command(monkeypatch, "changes", "--out", out, "--json")
    assert capsys.readouterr().out == ""
    command(monkeypatch, "sql", "SELECT document_id, title FROM documents", "--out", out)
    assert not set("\x00\x1b\u202e\u2028") & set(capsys.readouterr().out)


def test_what_is_read_by_programs_keeps_every_sign_and_a_terminal_obeys_none(out, monkeypatch, capsys):
    command(monkeypatch, "sql", "SELECT document_id FROM documents", "--csv", "--out", out)
    piped = capsys.readouterr().out
    assert {row["document_id"] for row in csv.DictReader(io.StringIO(piped, newline=""))} == set(NAMES)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for words in (["sql", "FROM pair_outcomes", "--csv"], ["sql", "FROM pair_outcomes"], ["findings"], ["changes"]):
        command(monkeypatch, *words, "--out", out)
        said = re.sub(r"\x1b\[[01]m", "", capsys.readouterr().out)  # the table's own bold type
        assert not OBEYED & set(said)


def test_every_file_of_the_store_has_a_plain_name(out: Path):
    assert not [path for path in out.rglob("*") if not re.fullmatch(r"[A-Za-z0-9._-]+", path.name)]
