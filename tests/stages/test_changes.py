"""Two nights over an archive edited between them: each change is listed once, with its cause."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.dois import register
from tests.support.corpora import write_folder
from tests.support.nights import verify
from verification_pipeline.receipts.scaffold import TextFinding
from verification_pipeline.stages import assembling, reading
from verification_pipeline.store import Store

HOLDS = "The weir was built of oak in the spring of that year, the log says, and it held until the flood."
CLAIM = "The weir was built of oak in the spring of that year [1].\n"
LIGHT = "Otters and herons were seen by the weir [1].\n"
QUOTE = 'The log says "the weir was built of oak in the spring" [1].\n'


def source(document: str, text: str = HOLDS, **more: object) -> dict[str, object]:
    return {"id": "1", "n": 1, "document_id": document, "text": text, **more}


def corpora(root: Path) -> dict[str, Path]:
    """One corpus a setting that will change, and one in which documents and sources change."""
    dye = {"url": "https://doi.org/10.5555/dye.1"}
    names = ("edited", "removed", "drifted", "lost", "gained", "cites", "same")
    documents = dict.fromkeys(names, CLAIM) | {"two": CLAIM + "\nIt held until the flood [2].\n"}
    sources = [source(name, **(dye if name == "cites" else {})) for name in documents]
    sources.append({**source("two", "The flood came later. It held until the flood."), "id": "2", "n": 2})
    sources[4]["text"] = ""  # `gained` has no text yet
    made = {"papers": write_folder(root / "papers", documents, sources)}
    for name in ("policy", "sampled", "checked", "waived", "configured"):
        text = QUOTE if name == "configured" else LIGHT
        held = HOLDS if name == "configured" else "The ferry was sold to a museum."
        made[name] = write_folder(root / name, {"d": text}, [source("d", held)])
    return made


def edit(made: dict[str, Path]) -> None:
    """What happens to the archive during the day."""
    papers = made["papers"]
    documents, rows = papers / "documents", [source(name) for name in ("edited", "same", "added")]
    (documents / "edited.md").write_text(CLAIM.replace("oak", "elm"), "utf-8")
    (documents / "removed.md").unlink()
    (documents / "added.md").write_text(CLAIM, "utf-8")
    rows += [source("drifted", HOLDS.replace("oak", "stone")), source("lost", ""), source("gained")]
    rows += [source("cites", url="https://doi.org/10.5555/dye.1"), source("two")]  # the second source of `two` is gone
    write_folder(papers, {}, rows)
    (made["policy"] / "corpus.toml").write_text("[policy]\nallow_unsupported = true\n")
    (made["sampled"] / "corpus.toml").write_text("[sampling]\nsample = 0.0\n")
    (made["checked"] / "corpus.toml").write_text('[checker]\nkind = "none"\n')
    (made["configured"] / "corpus.toml").write_text("[quotes]\nmin_words = 30\nshort_words = 29\n")
    (made["waived"] / "waivers.toml").write_text(
        '[[waiver]]\nwhat = "cite-check-resolved"\ndocument = "d"\nby = "E"\nuntil = 2099-01-01\nwhy = "known"\n'
    )


def night(out: Path, made: dict[str, Path], csv: Path) -> Store:
    return verify(out, *made.values(), registers={"retraction_watch": str(csv), "retraction_watch_min_rows": 1})


def last(store: Store) -> list[tuple[str, str, str]]:
    """(corpus/document, what, cause) of the last run."""
    run = store.read("runs").sort("started_at")["run_id"][-1]
    names = store.read_all("receipts", ["document_key", "receipt"]).unique("document_key")
    names = names.select(
        "document_key",
        name=pl.concat_str(*(pl.col("receipt").str.json_path_match(f"$.{p}") for p in NAMED), separator="/"),
    )
    rows = store.read("changes").filter(pl.col("run_id") == run).join(names, on="document_key")
    return sorted(rows.select("name", "what", "cause").rows())


NAMED = ("corpus", "document_id")


@pytest.fixture
def nights(tmp_path):
    """The archive before the edits, verified; and the register, which knows nothing of it yet."""
    made = corpora(tmp_path / "c")
    csv = register.write(tmp_path / "register.csv", [{"OriginalPaperDOI": "10.5555/other"}])
    return tmp_path / "out", made, csv, night(tmp_path / "out", made, csv)


def test_every_change_is_listed_once_with_its_cause(nights):
    out, made, csv, _ = nights
    edit(made)
    register.write(csv, [{"OriginalPaperDOI": "10.5555/other"}, {"OriginalPaperDOI": "10.5555/dye.1"}])
    store = night(out, made, csv)
    found = last(store)
    assert len({(name, what) for name, what, _ in found}) == len(found) - extra_rows(found)
    causes: dict[str, set[str]] = {}
    for name, _, cause in found:
        causes.setdefault(name, set()).add(cause)
    assert causes == {
        "papers/added": {"document added"},
        "papers/removed": {"document removed"},
        "papers/edited": {"document edited"},
        "papers/drifted": {"source drifted"},
        "papers/lost": {"source lost"},
        "papers/gained": {"source added"},
        "papers/two": {"source lost"},
        "papers/cites": {"retraction published"},
        "policy/d": {"policy changed"},
        "sampled/d": {"sampling changed"},
        "checked/d": {"checker changed"},
        "waived/d": {"waiver added"},
        "configured/d": {"configuration changed"},
    }
    with duckdb.connect(str(out / "verification.duckdb"), read_only=True) as asked:
        states = set(
            asked.execute(
                "SELECT m.state, coalesce(s.document_id, 'gone'), m.pairs "
                "FROM moved_sources AS m LEFT JOIN sources AS s USING (source_key)"
            ).fetchall()
        )
    assert states == {("drifted", "drifted", 1), ("lost", "lost", 1), ("added", "gained", 1), ("lost", "gone", 0)}
    documents = [name for name, what, _ in found if what == "document"]
    assert sorted(set(documents)) == sorted(documents) == sorted(causes)


def extra_rows(found: list[tuple[str, str, str]]) -> int:
    """Rows by which a document has several pairs, quotes or works that changed: the old claim gone and the new come."""
    several = [row[:2] for row in found if row[1] in ("pair", "quote", "work")]
    return len(several) - len(set(several))


def test_a_night_without_a_change_lists_nothing(nights):
    out, made, csv, _ = nights
    assert last(night(out, made, csv)) == []


def test_a_register_that_is_down_and_answers_again(nights):
    out, made, csv, _ = nights
    csv.write_text("nothing\n")
    assert ("papers/cites", "work", "register outage") in last(night(out, made, csv))
    register.write(csv, [{"OriginalPaperDOI": "10.5555/other"}, {"OriginalPaperDOI": "10.5555/next"}])
    assert ("papers/cites", "work", "register answered") in last(night(out, made, csv))


def test_other_code_is_named_as_the_engine(nights, monkeypatch):
    out, made, csv, _ = nights
    monkeypatch.setattr(reading, "engine", lambda *_: "other code")
    monkeypatch.setattr(
        reading, "find_leaks", lambda d: [TextFinding(d.document_key, "scaffold-leak", 0, 3, d.text[:3], "a leak")]
    )
    found = last(night(out, made, csv))
    assert {cause for *_, cause in found} == {"engine changed"}
    assert len({name for name, *_ in found}) == len(set(made)) - 1 + 8


def test_a_waiver_runs_out_by_itself(nights, monkeypatch):
    out, made, csv, _ = nights
    today = dt.datetime.now(dt.UTC).date()
    text = f'[[waiver]]\nwhat = "cite-check-resolved"\ndocument = "d"\nby = "E"\nuntil = {today}\nwhy = "known"\n'
    (made["waived"] / "waivers.toml").write_text(text)
    assert {cause for *_, cause in last(night(out, made, csv))} == {"waiver added"}
    from verification_pipeline import night as nights_of

    class Tomorrow(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return dt.datetime.now(tz) + dt.timedelta(days=1)

    monkeypatch.setattr(nights_of, "datetime", Tomorrow)
    assert {row for row in last(night(out, made, csv)) if row[0] == "waived/d"} == {
        ("waived/d", "document", "waiver expired"),
        ("waived/d", "state", "waiver expired"),
    }


def test_a_corpus_that_is_gone_from_the_scope_is_left_alone(nights):
    out, made, csv, _ = nights
    shutil.rmtree(made.pop("policy"))
    assert last(night(out, made, csv)) == []


def test_a_night_killed_before_its_baseline_is_set_tells_its_changes_once(tmp_path, monkeypatch):
    papers = write_folder(tmp_path / "papers", {"a": CLAIM, "b": CLAIM}, [source("a"), source("b")])
    with monkeypatch.context() as patched:
        patched.setattr(assembling, "_set_baseline", lambda _: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            verify(tmp_path / "out", papers)
    store = verify(tmp_path / "out", papers)
    assert store.read("runs")["finished_at"].null_count() == 0
    told = store.read("changes")
    assert told.filter(what="document")["cause"].to_list() == ["document added"] * 2
    (papers / "documents" / "a.md").write_text(CLAIM.replace("oak", "elm"), "utf-8")
    assert verify(tmp_path / "out", papers).read("changes")["document_key"].n_unique() == 2
    assert not (store.root / "baseline-of").exists()
