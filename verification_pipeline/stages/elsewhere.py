"""The look-up in the rest of the archive: unsupported pairs and unfound quotes that another document's source holds.

It never changes a status: an unchanged document stays unchanged whatever else the archive gains. Stored phrases say
which source texts to open; a hit counts only when the quote stands there verbatim, or the claim passes triage against
that source. New questions are put to all sources and old questions to new sources only; what comes out is what a
look-up from nothing would find.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline import tables, triage
from verification_pipeline.config import Settings
from verification_pipeline.keys import hash_of, shard_of
from verification_pipeline.night import Night
from verification_pipeline.quotes.compare import Searchable, find
from verification_pipeline.quotes.quotation import Quotation
from verification_pipeline.records import Evidence, Pair
from verification_pipeline.shards import engine, read_fingerprints, write_fingerprints
from verification_pipeline.stages import loading
from verification_pipeline.store import Store
from verification_pipeline.tables import Span
from verification_pipeline.text.index import WordIndex
from verification_pipeline.text.phrases import U32, phrases

NAME = "elsewhere"
_CODE = ("triage", "text", "quotes", "stages/elsewhere")
_SECTIONS = ("triage", "strong", "quotes")
_SHARED = "*"
"""Stands in fingerprints for the sources of a shard that no document owns."""
_SHARE = {"quote": 0.75, "pair": 0.34}
"""Share of its phrases that a text must have to be opened: nearly all of a quote's, while claims are reworded."""
_NAMES = ("source_key", "document_key", "text_sha256")
_BREAKS = re.compile(r"…|\.\.\.|[\[\]()]")
"""Where a quote leaves words out or adds its own: no phrase reaches across."""

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PhrasesRow:
    """A row of `phrases`."""

    source_key: str
    document_key: str | None
    text_sha256: str
    hashes: U32

    @classmethod
    def of(cls, evidence: Evidence, document_key: str | None) -> PhrasesRow:
        """The phrases of a source's text."""
        source_key, body = evidence.source.source_key, evidence.body
        return cls(source_key, document_key, body.sha256, phrases(body.index))


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of `found_elsewhere`."""

    pair_id: str | None
    quote_id: str | None
    document_key: str
    source_key: str
    span: Span
    score: float


@dataclass(frozen=True, slots=True)
class _Survey:
    """What moved in a shard since the last look-up, and the components to remember."""

    asking: frozenset[str]
    """Documents whose questions, or own sources, are others."""
    holding: frozenset[str]
    """Documents whose sources are others (and `_SHARED`)."""
    components: Mapping[str, Mapping[str, str]]
    stored: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Question:
    """Words looked for: a quote, or the claim of an unsupported pair."""

    kind: str
    key: str
    """quote_id or pair_id."""
    document_key: str
    words: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A text that shares enough phrases with a question to be opened."""

    question: _Question
    shard: int
    source_key: str
    share: float


def find_elsewhere(night: Night) -> pl.DataFrame:
    """Bring `found_elsewhere` up to date for the whole store; nothing is read while nothing moved."""
    store = night.store
    shards = range(store.shards)
    settings = next(iter(night.scope.settings.values()), night.settings)
    code = hash_of(engine(*_CODE), settings.fingerprint(*_SECTIONS))
    surveys = list(night.pool.map(partial(_survey, store, code), shards))
    asking = frozenset[str]().union(*(one.asking for one in surveys))
    holding = frozenset[str]().union(*(one.holding for one in surveys))
    before = store.read("found_elsewhere")
    if not asking and not holding:
        return before
    _bring_shared_phrases(night, holding)
    fresh = _asked(night, asking)
    known = _asked(night, None, apart_from=asking) if holding else _Asked.of([])
    proposed = [
        candidate
        for found in night.pool.map(partial(_propose, store, fresh, known, holding), (*shards, None))
        for candidate in found
    ]
    found: list[FoundRow] = []
    jobs = _jobs(store, proposed)
    for done, rows in enumerate(night.pool.map(partial(_confirm, store, settings), shards, jobs), 1):
        found += rows
        night.progress(NAME, done, len(shards))
    kept = before.filter(~pl.col("document_key").is_in(list(asking)))
    table = _settled(store, pl.concat([kept, tables.frame("found_elsewhere", found)]))
    if not table.equals(before):
        store.write("found_elsewhere", table)
    for shard, one in enumerate(surveys):
        if one.components != one.stored:
            write_fingerprints(store, NAME, shard, one.components)
    return table


# ---- what moved


def _survey(store: Store, code: str, shard: int) -> _Survey:
    links = store.read("document_sources", shard, columns=["document_key", "source_key"])
    questions = _questions(store, shard).sort("document_key", "kind", "key")
    asked = _hashes(questions.select("document_key", pl.concat_str("kind", "key", "words", separator=" ")))
    own = _hashes(links.join(questions, on="document_key", how="semi").sort("document_key", "source_key"))
    held = _hashes(
        pl.concat([store.read("phrases", shard, columns=_NAMES), _shared(store, shard).select(_NAMES)])
        .sort("document_key", "source_key")
        .select(pl.col("document_key").fill_null(_SHARED), pl.concat_str("source_key", "text_sha256", separator=" "))
    )
    current = {
        key: {"document": hash_of(asked.get(key, ""), own.get(key, ""), code), "source": hash_of(held.get(key, ""))}
        for key in sorted(asked.keys() | held.keys())
    }
    stored = read_fingerprints(store, NAME, shard)
    moved = {
        component: frozenset(
            key
            for key in current.keys() | stored.keys()
            if current.get(key, {}).get(component) != stored.get(key, {}).get(component)
        )
        for component in ("document", "source")
    }
    return _Survey(moved["document"], moved["source"], current, stored)


def _hashes(rows: pl.DataFrame) -> dict[str, str]:
    """Key in the first column → hash of its values in the second."""
    grouped = rows.group_by(rows.columns[0], maintain_order=True).agg(pl.all())
    return {key: hash_of(*values) for key, values in grouped.iter_rows()}


def _questions(store: Store, shard: int) -> pl.DataFrame:
    """The questions of a shard's documents: kind, key, document_key and words."""
    quotes = store.read("quotes", shard, columns=["quote_id", "document_key", "quote", "status", "found_in_source_key"])
    lost = quotes.filter((pl.col("status") == "not-found") & pl.col("found_in_source_key").is_null())
    asked = [lost.select(pl.lit("quote").alias("kind"), key="quote_id", document_key="document_key", words="quote")]
    verdicts = store.read("verdicts", shard, columns=["pair_id", "verdict", "checked"])
    unsupported = verdicts.filter(pl.col("checked") & (pl.col("verdict") == "unsupported"))
    if unsupported.height:
        pairs = store.read("pairs", shard, columns=["pair_id", "document_key", "claim"])
        mine = pairs.join(unsupported, on="pair_id", how="semi")
        asked.append(
            mine.select(pl.lit("pair").alias("kind"), key="pair_id", document_key="document_key", words="claim")
        )
    return pl.concat(asked)


def _bring_shared_phrases(night: Night, holding: Collection[str]) -> None:
    """Phrases of the sources that no document owns; those of a document are made when it is read."""
    if _SHARED not in holding:
        return
    store = night.store
    before = store.read("phrases")
    shards = range(store.shards)
    found = night.pool.map(partial(_shared_phrases, store, before.select("source_key", "text_sha256")), shards)
    keys, fresh = zip(*found, strict=True)
    present = pl.concat(keys)
    kept = before.join(present, on=["source_key", "text_sha256"], how="semi")
    store.write("phrases", pl.concat([kept, *fresh]))


def _shared_phrases(store: Store, known: pl.DataFrame, shard: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Key and text of a shard's shared sources, and the phrases of those that are not `known`."""
    mine = _shared(store, shard)
    new = mine.join(known, on=["source_key", "text_sha256"], how="anti")
    reader = loading.TextReader(store)
    rows = [
        PhrasesRow.of(evidence, None)
        for source in loading.sources_of(new)
        for evidence in loading.evidence_of([(source, shard)], reader).values()
    ]
    return mine.select("source_key", "text_sha256"), tables.frame("phrases", rows)


def _shared(store: Store, shard: int) -> pl.DataFrame:
    """The usable sources of a shard that no document owns."""
    return store.read("sources", shard).filter(pl.col("document_key").is_null() & (pl.col("status") == "ok"))


# ---- which texts to open


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Questions, and the way from a phrase to them: those of phrase k are `owners[offsets[k]:offsets[k + 1]]`."""

    questions: Sequence[_Question]
    totals: I64
    """Phrases of each question."""
    least: I64
    """Phrases that a text must share with it."""
    phrases: U32
    offsets: I64
    owners: I64

    @classmethod
    def of(cls, asked: Iterable[tuple[_Question, U32]]) -> _Asked:
        """Index questions by their phrases; those without any cannot be looked for and are left out."""
        usable = [one for one in asked if len(one[1])]
        totals = np.array([len(hashes) for _, hashes in usable], np.int64)
        shares = np.array([_SHARE[question.kind] for question, _ in usable])
        every = np.concatenate([np.empty(0, np.uint32), *(hashes for _, hashes in usable)])
        order = np.argsort(every, kind="stable")
        distinct, starts = np.unique(every[order], return_index=True)
        owners = np.repeat(np.arange(len(usable), dtype=np.int64), totals)[order]
        least = np.maximum(1, np.ceil(totals * shares)).astype(np.int64)
        return cls([q for q, _ in usable], totals, least, distinct, np.append(starts, len(every)), owners)


def _asked(night: Night, chosen: frozenset[str] | None, apart_from: frozenset[str] = frozenset()) -> _Asked:
    """The questions of the `chosen` documents (None: of all), without those of some others."""
    shards = range(night.store.shards)
    parts = night.pool.map(partial(_indexed, night.store, chosen, apart_from), shards)
    return _Asked.of(one for part in parts for one in part)


def _indexed(
    store: Store, chosen: frozenset[str] | None, apart_from: frozenset[str], shard: int
) -> list[tuple[_Question, U32]]:
    rows = _questions(store, shard).filter(~pl.col("document_key").is_in(list(apart_from)))
    if chosen is not None:
        rows = loading.of_documents(rows, list(chosen))
    return [(_Question(*row), _phrases_of(row[3])) for row in rows.iter_rows()]


def _phrases_of(words: str) -> U32:
    parts = [phrases(WordIndex.build(part)) for part in _BREAKS.split(words)]
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def _propose(
    store: Store, fresh: _Asked, known: _Asked, holding: frozenset[str], shard: int | None
) -> list[_Candidate]:
    """Texts of a shard (None: those that no document owns) to open: all for fresh questions, moved ones for known."""
    rows = store.read("phrases", shard)
    moved = rows.filter(pl.col("document_key").fill_null(_SHARED).is_in(list(holding)))
    found = [*_sharing(fresh, rows), *_sharing(known, moved)]
    return [
        _Candidate(question, shard_of(key, store.shards) if shard is None else shard, key, share)
        for question, key, share in found
    ]


def _sharing(asked: _Asked, rows: pl.DataFrame) -> Iterator[tuple[_Question, str, float]]:
    """Questions with the sources that share enough phrases with them, and the share."""
    if not len(asked.phrases) or not rows.height:
        return
    offsets = np.concatenate(([0], np.cumsum(rows["hashes"].list.len().to_numpy().astype(np.int64))))
    hashes = rows["hashes"].explode().drop_nulls().to_numpy()
    at, phrase = _met(hashes, asked.phrases)
    counts = asked.offsets[phrase + 1] - asked.offsets[phrase]
    firsts = np.repeat(asked.offsets[phrase] - np.cumsum(counts) + counts, counts)
    question = asked.owners[firsts + np.arange(len(firsts))]
    text = np.repeat(np.searchsorted(offsets, at, side="right") - 1, counts)
    codes, shared = np.unique(text * len(asked.questions) + question, return_counts=True)
    text, question = np.divmod(codes, len(asked.questions))
    keys, owners = rows["source_key"], rows["document_key"]
    for k in np.flatnonzero(shared >= asked.least[question]).tolist():
        row, one = int(text[k]), asked.questions[question[k]]
        if owners[row] != one.document_key:
            yield one, keys[row], float(shared[k] / asked.totals[question[k]])


def _met(hashes: U32, wanted: U32) -> tuple[I64, I64]:
    """Places in `hashes` that hold a wanted one, and which. A table of leading bits spares most of them the search."""
    bits = min(26, max(12, 3 + len(wanted).bit_length()))
    shift = np.uint32(32 - bits)
    table = np.zeros(1 << bits, dtype=bool)
    table[wanted >> shift] = True
    at = np.flatnonzero(table[hashes >> shift])
    place = np.minimum(np.searchsorted(wanted, hashes[at]), len(wanted) - 1)
    same = wanted[place] == hashes[at]
    return at[same], place[same]


# ---- what holds


def _jobs(store: Store, candidates: Sequence[_Candidate]) -> list[tuple[list[_Candidate], dict[str, Pair]]]:
    """The candidates by the shard that their text lies in, with the pairs they ask for."""
    asked = sorted({(shard_of(c.question.document_key, store.shards), c.question.key) for c in candidates})
    pairs: dict[str, Pair] = {}
    for shard, part in itertools.groupby(asked, key=itemgetter(0)):
        wanted = pl.col("pair_id").is_in([key for _, key in part])
        pairs |= {pair.pair_id: pair for pair in loading.pairs_of(store.read("pairs", shard).filter(wanted))}
    jobs: list[tuple[list[_Candidate], dict[str, Pair]]] = [([], {}) for _ in range(store.shards)]
    for candidate in candidates:
        inside, needed = jobs[candidate.shard]
        inside.append(candidate)
        if candidate.question.key in pairs:
            needed[candidate.question.key] = pairs[candidate.question.key]
    return jobs


def _confirm(
    store: Store, settings: Settings, shard: int, job: tuple[list[_Candidate], dict[str, Pair]]
) -> list[FoundRow]:
    """The candidates whose text, in one shard, really holds what is asked."""
    candidates, pairs = job
    if not candidates:
        return []
    reader = loading.TextReader(store)
    named = pl.col("source_key").is_in([candidate.source_key for candidate in candidates])
    sources = {one.source_key: one for one in loading.sources_of(store.read("sources", shard).filter(named))}
    found: list[FoundRow] = []
    for key, part in itertools.groupby(sorted(candidates, key=attrgetter("source_key")), attrgetter("source_key")):
        for evidence in loading.evidence_of([(sources[key], shard)], reader).values():
            searchable = Searchable(evidence.body)
            for candidate in part:
                question = candidate.question
                pair = pairs.get(question.key)
                span = _supporting_span(question, pair, evidence, searchable, settings)
                if span is not None:
                    score = 1.0 if pair is None else candidate.share
                    pair_id, quote_id = (None, question.key) if pair is None else (question.key, None)
                    found.append(FoundRow(pair_id, quote_id, question.document_key, key, span, score))
    return found


def _supporting_span(
    question: _Question, pair: Pair | None, evidence: Evidence, searchable: Searchable, settings: Settings
) -> Span | None:
    """Where a source holds the quote verbatim, or passes the claim without a reader; None where it does not."""
    key = evidence.source.source_key
    if pair is not None:
        row = triage.triage([replace(pair, source_key=key)], {key: evidence}, settings)[0]
        return row.span if row.outcome == "auto-passed" else None
    match = find(Quotation.parse(question.words), searchable, settings.quotes, near=False)
    if match is None:
        return None
    text = evidence.body.text
    return Span(key, evidence.body.sha256, match.start, match.end, text[match.start : match.end])


def _settled(store: Store, rows: pl.DataFrame) -> pl.DataFrame:
    """One row a question and text, under the first source by key that has this text today and is no own source.

    Rows of texts that no source has any more are dropped.
    """
    if not rows.height:
        return rows
    asking, texts = rows.select("document_key").unique(), rows["evidence_text_sha256"].unique()
    own, held = [], []
    for shard in (*range(store.shards), None):
        sources = store.read("phrases", shard, columns=["source_key", "text_sha256"])
        held.append(sources.filter(pl.col("text_sha256").is_in(texts.implode())))
        if shard is not None:
            links = store.read("document_sources", shard, columns=["document_key", "source_key"])
            own.append(links.join(asking, on="document_key", how="semi"))
    holders = pl.concat(held).rename({"source_key": "holder"})
    return (
        rows.unique(["pair_id", "quote_id", "evidence_text_sha256"])
        .join(holders, left_on="evidence_text_sha256", right_on="text_sha256")
        .join(pl.concat(own), left_on=["document_key", "holder"], right_on=["document_key", "source_key"], how="anti")
        .sort("holder")
        .unique(["pair_id", "quote_id", "evidence_text_sha256"], keep="first", maintain_order=True)
        .with_columns(source_key="holder", evidence_source_key="holder")
        .drop("holder")
        .sort(tables.sort_keys("found_elsewhere"), nulls_last=True)
    )
