from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Collection
from pathlib import Path

import polars as pl
import pytest

from verification_pipeline import corpora, keys
from verification_pipeline.config import Settings, load
from verification_pipeline.corpus import files, inventory
from verification_pipeline.corpus.archive import open_archive, parse
from verification_pipeline.corpus.inventory import take_inventory
from verification_pipeline.errors import UsageError
from verification_pipeline.shards import Scope, Workers
from verification_pipeline.store import Store


class World:
    """A store and a folder in which corpora are written."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self.store = Store.open(root / "out", shards=4)

    def write(self, name: str, body: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body if isinstance(body, bytes) else body.encode())
        return path

    def jsonl(self, name: str, *rows: object) -> Path:
        return self.write(name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def take(self, *corpora: str, only: Collection[str] = ()):
        archives = [open_archive(self.root / corpus) for corpus in corpora]
        scope = Scope({archive.name: self.settings for archive in archives}, frozenset(only))
        return take_inventory(self.store, archives, scope, Workers(None))

    def documents(self) -> dict[str, dict]:
        return {row["document_id"]: row for row in self.store.read_all("documents").iter_rows(named=True)}

    def sources(self) -> dict[str, dict]:
        return {row["source_id"]: row for row in self.store.read_all("sources").iter_rows(named=True)}

    def problems(self) -> list[str]:
        return self.store.read("problems")["reason"].to_list()

    def text(self, row: dict) -> str | None:
        return self.store.text(row["text_sha256"])


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, Settings())


def test_a_folder(world):
    world.write(
        "c/documents/a.md", "---\ntitle: Log\ndate: 2024-05-01\nurl: https://example.org/a\n---\nThe pier [1].\n"
    )
    world.write("c/documents/sub/b.html", "<h1>Weir</h1><p>The weir is low [2].</p>")
    world.write("c/documents/notes.csv", "ignored")
    world.jsonl(
        "c/sources.jsonl", {"id": 1, "document_id": "a", "text": "The pier is long.", "n": 1, "url": "HTTP://x.org"}
    )
    world.write("c/sources/shared.txt", "The weir is low.")
    world.take("c")
    documents, sources = world.documents(), world.sources()
    assert set(documents) == {"a", "sub/b"}
    assert (documents["a"]["title"], str(documents["a"]["date"])) == ("Log", "2024-05-01")
    assert world.text(documents["a"]).startswith("---\ntitle")
    assert documents["sub/b"]["title"] == "Weir"
    assert (sources["1"]["document_id"], sources["1"]["n"], sources["1"]["document_key"]) == (
        "a",
        1,
        keys.document_key("c", "a"),
    )
    assert sources["shared"]["document_key"] is None
    assert world.text(sources["shared"]) == "The weir is low."
    assert world.problems() == []


def test_a_bundle_as_jsonl_and_parquet(world):
    row = {"id": "007", "markdown": "# Pier\nLong [1].", "sources": [{"id": "1", "text": "Long.", "claims": ["no"]}]}
    world.jsonl("one.jsonl", row)
    pl.DataFrame([row]).write_parquet(world.root / "two.parquet")
    world.take("one.jsonl", "two.parquet")
    table = world.store.read_all("documents").sort("corpus")
    assert table["corpus"].to_list() == ["one", "two"]
    assert table["document_id"].to_list() == ["007", "007"]
    assert table["title"].to_list() == ["Pier", "Pier"]
    assert world.store.read_all("sources").height == 2


def test_a_vault(world):
    world.write("v/research/notes/final_report_x.md", "# Report\nThe lamp burns [[lamp]].")
    world.write(
        "v/research/notes/lamp.md", "---\nid: lamp\naliases: [Lampe]\nsource: https://x.org\n---\n\nThe lamp burns."
    )
    world.take("v")
    assert set(world.documents()) == {"final_report_x"}
    note = world.sources()["lamp"]
    assert (note["aliases"], note["url"], world.text(note)) == (["Lampe"], "https://x.org", "The lamp burns.")


def test_broken_input_becomes_problems_and_the_rest_goes_on(world):
    world.write("c/documents/good.md", "The pier is long [1].")
    world.write("c/documents/broken.md", bytes.fromhex("00fffe00d800dc00"))
    world.write("c/documents/empty.md", "---\ntitle: x\n---\n \n")
    world.write("c/documents/dated.md", "---\ndate: last spring\n---\nBody")
    lines = [
        '{"id": "1", "text": "Long."}',
        "{not json",
        '{"text": "no id"}',
        '{"id": "2", "text": 5}',
        '{"id": "3", "text": NaN}',
        '{"id": "1", "text": "again"}',
        '{"id": "4", "text": "x", "document_id": "nowhere"}',
        '["a", "list"]',
    ]
    world.write("c/sources.jsonl", "\n".join(lines))
    world.take("c")
    statuses = {name: row["status"] for name, row in world.documents().items()}
    assert statuses == {"good": "ok", "broken": "unreadable", "empty": "empty", "dated": "ok"}
    assert {name: row["status"] for name, row in world.sources().items()} == {
        "1": "ok",
        "2": "unreadable",
        "3": "empty",
        "4": "ok",
    }
    reasons = " | ".join(world.problems())
    for part in ("NUL bytes", "no text", "not an ISO day", "not a JSON object", "without an id", "not a string"):
        assert part in reasons
    assert "duplicate id" in reasons
    assert "its document 'nowhere'" in reasons
    lines = set(world.store.read("problems").filter(pl.col("file") == "sources.jsonl")["line"])
    assert lines == {2, 3, 4, 6, 7, 8}


@pytest.mark.parametrize(
    ("text", "title", "status"),
    [
        ("", None, "empty"),
        (" NaN ", None, "empty"),
        ("Tide tables", "Tide Tables.", "title-only"),
        ("Checking your browser before you continue. Please wait.", None, "challenge-page"),
        ("An article about " + "tides " * 200 + "and a page that says checking your browser", None, "ok"),
        ("The tide rose.", "Tides", "ok"),
    ],
)
def test_what_makes_a_text_usable(world, text, title, status):
    world.jsonl("one.jsonl", {"id": "d", "markdown": "x", "sources": [{"id": "s", "text": text, "title": title}]})
    world.take("one.jsonl")
    assert world.sources()["s"]["status"] == status


def test_sizes_over_the_limit_are_recorded_not_read(tmp_path):
    world = World(tmp_path, load({"limits": {"document_chars": 10, "source_chars": 10, "file_bytes": 200}}))
    long = "x" * 11
    world.jsonl("one.jsonl", {"id": "d", "markdown": long, "sources": [{"id": "s", "text": long}]}, {"id": "y" * 300})
    world.write("c/documents/big.md", "x" * 201)
    world.take("one.jsonl", "c")
    assert {row["status"] for row in world.documents().values()} == {"too-large"}
    assert world.sources()["s"]["status"] == "unreadable"
    assert "line over the limit" in " ".join(world.problems())


def test_line_separators_are_no_line_ends(world):
    world.write("one.jsonl", '{"id": "d", "markdown": "a\u2028b\u0085c", "sources": []}\n'.encode())
    world.take("one.jsonl")
    assert world.text(world.documents()["d"]) == "a\u2028b\u0085c"


def test_lone_surrogates_do_not_reach_the_store(world):
    world.write("one.jsonl", '{"id": "\\ud800", "markdown": "a \\udfff b", "sources": []}\n')
    world.take("one.jsonl")
    assert world.text(world.documents()["\ufffd"]) == "a \ufffd b"


def test_an_unchanged_archive_is_not_opened_again(world):
    world.write("c/documents/a.md", "Pier [1].")
    world.jsonl("c/sources.jsonl", {"id": "1", "text": "Pier."})
    assert world.take("c").read == 2
    before = {path: path.read_bytes() for path in world.store.files("documents")}
    assert world.take("c").read == 0
    assert {path: path.read_bytes() for path in world.store.files("documents")} == before


def test_added_edited_and_removed_files(world):
    world.write("c/documents/a.md", "Pier [1].")
    world.write("c/documents/b.md", "Weir [1].")
    world.take("c")
    (world.root / "c/documents/a.md").unlink()
    world.write("c/documents/b.md", "Weir, edited [1].")
    world.write("c/documents/d.md", "New.")
    report = world.take("c")
    assert (report.read, report.removed) == (2, 1)
    assert set(world.documents()) == {"b", "d"}
    assert world.text(world.documents()["b"]) == "Weir, edited [1]."


def test_corpora_out_of_scope_stay(world):
    world.write("c/documents/a.md", "Pier.")
    world.write("e/documents/a.md", "Weir.")
    world.take("c", "e")
    (world.root / "c/documents/a.md").unlink()
    world.write("c/documents/z.md", "Z.")
    world.take("c")
    table = world.store.read_all("documents").sort("corpus")
    assert table.select("corpus", "document_id").rows() == [("c", "z"), ("e", "a")]


def emptied_folder(world):
    world.write("c/documents/a.md", "Pier [1].")
    world.jsonl("c/sources.jsonl", {"id": "1", "text": "Pier."})
    world.take("c")
    (world.root / "c/documents/a.md").unlink()
    return "c"


def cut_bundle(world, name="c.jsonl", cut=b""):
    rows = [{"id": "a", "markdown": "Pier."}]
    if name.endswith(".parquet"):
        pl.DataFrame(rows).write_parquet(world.root / name)
    else:
        world.jsonl(name, *rows)
    world.take(name)
    world.write(name, cut)
    return name


@pytest.mark.parametrize(
    "made", [emptied_folder, cut_bundle, lambda world: cut_bundle(world, "c.parquet", b"PAR1")], ids=range(3)
)
def test_a_corpus_that_lost_all_its_documents_is_refused(world, made):
    corpus = made(world)
    with pytest.raises(UsageError, match=r"'c' holds no document that can be read, and had 1: .* emptied = \"remove\""):
        world.take(corpus)
    assert set(world.documents()) == {"a"}
    assert not (world.store.root / "staging").exists()
    world.settings = load({"storage": {"emptied": "remove"}})
    world.take(corpus)
    assert world.documents() == {}


def test_a_document_to_verify_that_does_not_exist_is_refused(world):
    world.write("c/documents/a.md", "Pier.")
    for _ in range(2):  # as well where nothing is to be read
        with pytest.raises(UsageError, match="no document 'b' in c"):
            world.take("c", only={"a", "b"})
    world.take("c", only={"a"})


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names are UTF-8 on this file system")
def test_a_file_name_that_is_no_utf_8_is_one_like_others(world):
    corpus = world.root / os.fsdecode(b"caf\xe9")
    for folder in ("documents", "sources"):
        (corpus / folder).mkdir(parents=True)
        (corpus / folder / os.fsdecode(b"th\xe9.md")).write_text("Pier.")
    world.take(corpus.name)
    (row,) = world.documents().values()
    assert (row["corpus"], row["document_id"], row["file"]) == ("caf\\xe9", "th\\xe9", "documents/th\\xe9.md")
    assert (row["status"], world.text(row)) == ("ok", "Pier.")
    assert set(world.sources()) == {"th\\xe9"}
    assert world.take(corpus.name).read == 0
    corpora.remember(world.store, {"caf\\xe9": corpus})
    assert corpora.places(world.store) == {"caf\\xe9": corpus}


def test_a_file_that_goes_while_its_folder_is_listed_is_gone(tmp_path):
    (tmp_path / "a.md").write_text("Pier.")
    paths = [tmp_path / "gone.md", tmp_path / "a.md"]
    assert [file.relative for file in files.input_files_of(tmp_path, paths, "document")] == ["a.md"]


def test_which_duplicate_wins_does_not_depend_on_the_night(world):
    world.jsonl("c/sources.jsonl", {"id": "s", "text": "second"})
    world.write("c/documents/a.md", "x")
    world.write("c/documents/a.txt", "y")
    world.take("c")
    assert world.text(world.documents()["a"]) == "x"
    (world.root / "c/documents/a.md").unlink()
    world.take("c")
    assert world.text(world.documents()["a"]) == "y"
    assert world.problems() == []


def test_what_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        open_archive(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="neither documents/"):
        open_archive(tmp_path)
    (tmp_path / "x.csv").write_text("a")
    with pytest.raises(UsageError, match="no bundle"):
        open_archive(tmp_path / "x.csv")


def test_of_a_changed_file_only_new_rows_are_parsed(world, monkeypatch):
    world.write("c/documents/a.md", "Long [1].")
    rows = [{"id": k, "document_id": "a", "text": f"Text {k} of the pier."} for k in range(5)]
    world.jsonl("c/sources.jsonl", *rows)
    world.take("c")
    before = world.sources()
    world.jsonl("c/sources.jsonl", {"id": "new", "document_id": "a", "text": "First."}, *rows[2:], rows[0])
    parsed = []
    monkeypatch.setattr(inventory, "parse", lambda raw, settings: parsed.append(raw.line) or parse(raw, settings))
    world.take("c")
    after = world.sources()
    assert parsed == [1]
    assert {key: row["line"] for key, row in after.items()} == {"new": 1, "2": 2, "3": 3, "4": 4, "0": 5}
    assert {**after["0"], "line": 1} == before["0"]


def test_edited_rows_lead_to_what_a_store_from_nothing_holds(tmp_path):
    dice = random.Random(5)
    kept = World(tmp_path, Settings())
    rows = [{"id": dice.randrange(30), "markdown": f"# {k}\nLong [1].", "sources": []} for k in range(20)]
    for night in range(12):
        for _ in range(dice.randrange(4)):
            rows.insert(dice.randrange(len(rows)), dice.choice(["broken", "", {"id": None}, dict(rows[0]), {"id": 7}]))
            rows.pop(dice.randrange(len(rows)))
        rows[dice.randrange(len(rows))] = {"id": dice.randrange(30), "markdown": "Short.", "sources": [{"id": "1"}]}
        dice.shuffle(rows)
        kept.jsonl("c.jsonl", *rows)
        fresh = World(tmp_path / str(night), Settings())
        fresh.jsonl("c.jsonl", *rows)
        kept.take("c.jsonl")
        fresh.take("c.jsonl")
        for name in ("documents", "sources"):
            assert kept.store.read_all(name).equals(fresh.store.read_all(name))
        assert kept.store.read("problems").equals(fresh.store.read("problems"))


def test_rows_are_found_by_their_place_whatever_stands_before_them(world):
    lines = ["\ufeff" + json.dumps({"id": "a", "markdown": "Über [1]."}), "", "x" * 40, '{"id": "b", "markdown": "ö"}']
    world.write("c.jsonl", "\r\n".join(lines))
    world.take("c.jsonl")
    assert {key: world.text(row) for key, row in world.documents().items()} == {"a": "Über [1].", "b": "ö"}
