"""The public failure cases, each through the whole command, with a line a case.

    python tests/acceptance/cases.py ../shared/cases/cases.jsonl [--checker embedded]

Every case becomes a corpus of its own; one run verifies them all, and each expectation is read off the tables. What a
case expects of a model's answers (`LLM I/O`) is tested with the LLM checker, and is listed here as not run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tests.dois import register
from verification_pipeline.store import Store
from verification_pipeline.text.numbers import parse

Row = dict[str, Any]

ELSEWHERE = {"LLM I/O": "tests/checkers and tests/acceptance/test_cases_llm.py"}
QUOTES = {
    "verbatim": {"verified"},
    "verbatim-after-cleaning": {"verified"},
    "altered": {"altered"},
    "absent": {"not-found", "altered"},
    "found-in-other-source": {"not-found"},
    "not-checked": {"not-checked", None},
}
WORKS = {
    "not-retracted": ("ok", None),
    "retracted": ("retracted", None),
    "retraction-notice": ("ok", "is_notice"),
    "withdrawn": ("retracted", "withdrawn"),
    "flagged-by-title": ("retracted", "title_only"),
    "unknown": ("unavailable", None),
    "unchecked": ("unavailable", None),
    "expression-of-concern": ("expression-of-concern", None),
    "corrected": ("corrected", None),
}
TABLES = (
    "markers",
    "pairs",
    "triage",
    "verdicts",
    "quotes",
    "doi_mentions",
    "clusters",
    "sources",
    "references",
    "receipts",
    "failures",
)
NUMBER_GUARDS = ("number", "unit", "range", "value")


@dataclass(frozen=True, slots=True)
class Result:
    """One case: its faults (empty: right), or why it was not run."""

    id: str
    category: str
    title: str
    faults: tuple[str, ...]
    not_run: str | None = None


def write_corpora(cases: list[Row], root: Path) -> list[Path]:
    """One folder corpus a case."""
    return [_write(case, root / case["id"]) for case in cases]


def _write(case: Row, folder: Path) -> Path:
    given = case["input"]
    (folder / "documents").mkdir(parents=True)
    name = given.get("document_name", "document.md")
    if "archive" in given:
        for entry in given["archive"]:
            body = bytes.fromhex(entry["bytes_hex"]) if "bytes_hex" in entry else entry["text"].encode()
            (folder / "documents" / entry["name"]).write_bytes(body)
    else:
        text = given["document"]
        if "document_url" in given:
            text = f"---\nurl: {given['document_url']}\n---\n{text}"
        (folder / "documents" / name).write_text(text, "utf-8")
    documents = [Path(e["name"]).stem for e in given.get("archive", ())] or [str(Path(name).with_suffix(""))]
    rows = [{**_source(source), "document_id": document} for document in documents for source in given["sources"]]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "sources.jsonl").write_text(lines, "utf-8")
    return folder


def _source(source: Row) -> Row:
    parts = source.get("body_parts")
    text = "".join(part["text"] * part["repeat"] for part in parts) if parts else source.get("body")
    kept = {name: source[name] for name in ("id", "url", "title", "doi", "publisher", "comment") if name in source}
    return {**kept, "text": text}


def _write_register(path: Path, rows: list[Row]) -> None:
    """An excerpt in the register's own format."""
    told = [
        {
            "OriginalPaperDOI": row.get("original_doi", ""),
            "RetractionDOI": row.get("notice_doi", ""),
            "RetractionNature": row["nature"],
        }
        for row in rows
    ]
    register.write(path, told)


class Tables:
    """The tables of the run, cut by case."""

    def __init__(self, out: Path) -> None:
        store = Store.open(out, create=False)
        self.documents = store.read_all("documents")
        self._names = {row["source_key"]: row["source_id"] for row in store.read_all("sources").iter_rows(named=True)}
        self._tables = {name: store.read_all(name) for name in TABLES}
        self.statuses = store.read("doi_statuses")
        self.problems = store.read("problems")

    def rows(self, case: str, table: str) -> list[Row]:
        keys = self.documents.filter(pl.col("corpus") == case)["document_key"]
        return self._tables[table].filter(pl.col("document_key").is_in(keys.implode())).to_dicts()

    def source_id(self, key: str | None) -> str | None:
        return self._names.get(key) if key else None

    def pairs(self, case: str) -> list[Row]:
        """Pairs with triage and verdict, and the verdict as a receipt would say it."""
        triage = {row["pair_id"]: row for row in self.rows(case, "triage")}
        verdicts = {row["pair_id"]: row for row in self.rows(case, "verdicts")}
        found = []
        for row in self.rows(case, "pairs"):
            told = verdicts.get(row["pair_id"], {})
            passed = triage[row["pair_id"]]["outcome"] == "auto-passed"
            found.append(
                {
                    **row,
                    "source_id": self.source_id(row["source_key"]),
                    "outcome": triage[row["pair_id"]]["outcome"],
                    "refused_by": triage[row["pair_id"]]["refused_by"],
                    "verdict": "supported" if passed else told.get("verdict"),
                    "why": told.get("not_checked_reason"),
                }
            )
        return found


def plain(sentence: str) -> str:
    """A sentence without markers, white space and closing punctuation: how sentences are compared."""
    sentence = re.sub(r"\[\^?[\d,;\s–-]+\]|<sup>.*?</sup>|\[cite:[^\]]*\]|\[\[[^\]]*\]\]|【[^】]*】", "", sentence)
    return re.sub(r"[\s.!?。…,“”\"*_`]", "", sentence).casefold()


def matches(pair: Row, sentence: str) -> bool:
    """Whether a pair is about a sentence: by its claim or by the sentence it stands in."""
    return plain(sentence) in (plain(pair["claim"]), plain(pair["sentence"]))


Check = Callable[[Row, Tables, str], Iterator[str]]


def _pairs(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    pairs = tables.pairs(case)
    for wanted in expected.get("pairs", ()):
        got = {p["source_id"] for p in pairs if matches(p, wanted["sentence"])}
        if got != set(wanted["source_ids"]):
            yield f"pairs of {wanted['sentence']!r}: {sorted(map(str, got))}, not {wanted['source_ids']}"
    if "pair_count" in expected and len(pairs) != expected["pair_count"]:
        yield f"{len(pairs)} pairs, not {expected['pair_count']}"
    for wanted in expected.get("cells", ()):
        told = [p for p in pairs if p["source_id"] in wanted["source_ids"]]
        fit = [p for p in told if all(x in f"{p['claim']} {p['context']}" for x in (wanted["row"], wanted["column"]))]
        if not fit:
            yield f"no pair of {wanted['source_ids']} carries {wanted['row']} and {wanted['column']}"
        elif fit[0]["verdict"] != wanted["verdict"]:
            yield f"cell {wanted['row']}/{wanted['column']}: {fit[0]['verdict'] or fit[0]['why']}"


def _dangling(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    markers = tables.rows(case, "markers")
    if "dangling_markers" in expected:
        got = sorted(str(row["target"]) for row in markers if row["status"] == "dangling")
        wanted = sorted(row["marker"] for row in expected["dangling_markers"])
        if got != wanted:
            yield f"dangling {got}, not {wanted}"
    for wanted in expected.get("unresolved_markers", ()):
        open_ = [row for row in markers if row["status"] in ("dangling", "unsupported-style")]
        if len(open_) < wanted["count_at_least"]:
            yield f"{len(open_)} unresolved markers, fewer than {wanted['count_at_least']}"
    for word in expected.get("sentence_text_must_not_contain", ()):
        if any(word in pair["claim"] for pair in tables.pairs(case)):
            yield f"{word!r} stands in a claim"


def _references(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    found = {row["n"]: row for row in tables.rows(case, "references")}
    for wanted in expected.get("source_list", ()):
        entry = found.get(wanted["id"])
        if entry is None or entry["url"] != wanted["url"]:
            yield f"entry {wanted['id']}: {entry and entry['url']}, not {wanted['url']}"


def _numbers(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    for wanted in expected.get("numbers", ()):
        for pair in tables.pairs(case):
            if matches(pair, wanted["sentence"]) and pair["source_id"] == wanted["source_id"]:
                if not wanted["match"] and pair["outcome"] == "auto-passed":
                    yield f"{wanted['sentence']!r} passed on a figure that is not there"
                if wanted["match"] and str(pair["refused_by"]).startswith(NUMBER_GUARDS):
                    yield f"{wanted['sentence']!r}: the figure was not found ({pair['refused_by']})"
    passed = [pair for pair in tables.pairs(case) if pair["outcome"] == "auto-passed"]
    if expected.get("must_not_pass_without_judge") and passed:
        yield "passed without a judge"
    for number in expected.get("must_not_extract", ()):
        if any(str(one.value) == str(number) for pair in tables.pairs(case) for one in parse(pair["claim"])):
            yield f"{number} was taken for a number of the claim"


def _verdicts(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    pairs = tables.pairs(case)
    for wanted in expected.get("verdicts", ()):
        got = [p for p in pairs if matches(p, wanted["sentence"]) and p["source_id"] == wanted["source_id"]]
        allowed = {wanted["verdict"]} | ({"wrong-source"} if "wrong-source" in wanted.get("note", "") else set())
        if not got or got[0]["verdict"] not in allowed:
            said = got[0]["verdict"] or got[0]["why"] if got else "no pair"
            yield f"{wanted['sentence']!r} [{wanted['source_id']}]: {said}, not {wanted['verdict']}"
    banned = set(expected.get("must_not_be", ())) & {"supported", "partially-supported", "unsupported", "wrong-source"}
    yield from (f"verdict {p['verdict']} must not be" for p in pairs if p["verdict"] in banned)
    if expected.get("graded") is False and any(pair["verdict"] for pair in pairs):
        yield "graded although there is nothing to read"
    if expected.get("self_citation") and {pair["why"] for pair in pairs} != {"self-citation"}:
        yield f"self-citation: {[pair['why'] for pair in pairs]}"
    if "ungraded" in expected and isinstance(expected["ungraded"], int):
        unread = sum(pair["verdict"] is None for pair in pairs)
        if unread != expected["ungraded"]:
            yield f"{unread} ungraded, not {expected['ungraded']}"
    if "summary_status_must_not_be" in expected and any(row["passed"] for row in tables.rows(case, "receipts")):
        yield "passed although nothing was verified"


def _quotes(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    rows = tables.rows(case, "quotes")
    for wanted in expected.get("quotes", ()):
        fit = [
            r
            for r in rows
            if plain(r["quote"]) in plain(wanted["quote"]) or plain(wanted["quote"]) in plain(r["quote"])
        ]
        allowed = QUOTES[wanted["status"]]
        if not fit and None not in allowed and len(wanted["quote"].split()) < 6:
            continue  # shorter than a quotation that is checked
        if not ({row["status"] for row in fit} or {None}) <= allowed:
            yield f"quote {wanted['quote'][:40]!r}: {[row['status'] for row in fit]}, not {wanted['status']}"
        if "found_in" in wanted and {tables.source_id(r["found_in_source_key"]) for r in fit} != {wanted["found_in"]}:
            yield f"quote not found in {wanted['found_in']}"


def _works(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    mentions = {tables.source_id(row["source_key"]): row for row in tables.rows(case, "doi_mentions")}
    for source, doi in expected.get("dois", {}).items():
        if mentions.get(source, {}).get("doi") != doi:
            yield f"DOI of {source}: {mentions.get(source, {}).get('doi')}, not {doi}"
    for source, word in expected.get("retraction", {}).items():
        status, flag = WORKS[word]
        work = mentions.get(source, {}).get("work_id")
        got = tables.statuses.filter(pl.col("work_id") == work).to_dicts()
        if not got or got[-1]["status"] != status or (flag and flag not in got[-1]["flags"]):
            yield f"status of {source}: {[(row['status'], row['flags']) for row in got]}, not {word}"


def _voices(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    rows = tables.rows(case, "clusters")
    if "clusters" in expected:
        got = {}
        for row in rows:
            got.setdefault(row["cluster_id"], set()).add(tables.source_id(row["source_key"]))
        wanted = sorted(sorted(group) for group in expected["clusters"] if len(group) > 1)
        if sorted(sorted(group) for group in got.values()) != wanted:
            yield f"clusters {sorted(map(sorted, got.values()))}, not {wanted}"
    for _, agency in expected.get("wire", {}).items():
        if {row["kind"] for row in rows} != {"wire"}:
            yield f"not recognised as {agency} copy: {[row['kind'] for row in rows]}"
    statuses = {row["source_id"]: row["status"] for row in tables.rows(case, "sources")}
    yield from (f"{name} counts as a body" for name in expected.get("bodies_missing", ()) if statuses[name] == "ok")


def _operations(expected: Row, tables: Tables, case: str) -> Iterator[str]:
    documents = {row["document_id"]: row for row in tables.documents.filter(pl.col("corpus") == case).to_dicts()}
    ids = {row["document_key"]: row["document_id"] for row in documents.values()}
    for name, count in expected.get("rows_by_document", {}).items():
        got = sum(ids[pair["document_key"]] == Path(name).stem for pair in tables.pairs(case))
        if got != count:
            yield f"{name}: {got} rows, not {count}"
    for name in expected.get("failed_documents", ()):
        if documents[Path(name).stem]["status"] == "ok" or not tables.problems.filter(pl.col("corpus") == case).height:
            yield f"{name} was not reported"
    for value in expected.get("table_values", {}).get("source_id", ()):
        if value not in {row["source_id"] for row in tables.rows(case, "sources")}:
            yield f"id {value!r} was changed"
    stored = expected.get("stored_source_id")
    if stored and {pair["source_id"] for pair in tables.pairs(case)} != {stored}:
        yield f"source id stored as {[pair['source_id'] for pair in tables.pairs(case)]}"
    yield from (f"failed: {row['reason']}" for row in tables.rows(case, "failures"))


CHECKS: tuple[Check, ...] = (
    _pairs,
    _dangling,
    _references,
    _numbers,
    _verdicts,
    _quotes,
    _works,
    _voices,
    _operations,
)


def evaluate(cases: list[Row], out: Path) -> list[Result]:
    """Each case against the tables of a finished run over its corpus."""
    tables = Tables(out)
    results = []
    for case in cases:
        elsewhere = ELSEWHERE.get(case["category"])
        faults = () if elsewhere else tuple(f for check in CHECKS for f in check(case["expected"], tables, case["id"]))
        results.append(Result(case["id"], case["category"], case["title"], faults, elsewhere))
    return results


def run_cases(path: Path, room: Path, checker: str, *, workers: int = 1) -> list[Result]:
    """Run the command over all cases and evaluate them."""
    from verification_pipeline import cli

    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    corpora = write_corpora(cases, room / "corpora")
    _write_register(room / "register.csv", [row for case in cases for row in case["input"].get("register_rows", ())])
    (room / "settings.toml").write_text(f"[registers]\nretraction_watch = '{room / 'register.csv'}'\n", "utf-8")
    options = ["--out", room / "out", "--config", room / "settings.toml", "--checker", checker, "--workers", workers]
    cli.app(["run", *map(str, [*corpora, *options]), "--json"], standalone_mode=False)
    return evaluate(cases, room / "out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--checker", default="embedded")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        results = run_cases(given.cases, Path(room), given.checker)
    for result in results:
        word = "not run" if result.not_run else "wrong" if result.faults else "right"
        print(f"{result.id} {word:<8}{result.category}: {result.title}")
        for fault in result.faults:
            print(f"         {fault}")
        if result.not_run:
            print(f"         see {result.not_run}")
    wrong = sum(bool(result.faults) for result in results)
    run = sum(result.not_run is None for result in results)
    print(f"{run - wrong} of {run} right, {len(results) - run} not run here")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
