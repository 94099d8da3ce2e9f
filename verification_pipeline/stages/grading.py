"""The grading of selected pairs by the configured checker, into `verdicts`; unread pairs get their reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from verification_pipeline import tables
from verification_pipeline.checkers.choice import checker_of
from verification_pipeline.checkers.grading import VerdictRow, graded
from verification_pipeline.checkers.none import NoChecker
from verification_pipeline.checkers.protocol import OPEN_REASONS, Item, Run
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of
from verification_pipeline.shards import Scope, Work, engine
from verification_pipeline.stages import loading
from verification_pipeline.store import Store

if TYPE_CHECKING:
    from verification_pipeline.checkers.llm.money import Estimate

_ITEMS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Grading:
    """The stage, as `shards.run_stage` runs it."""

    name: str = "grading"
    tables: tuple[str, ...] = ("verdicts",)

    def survey(self, store: Store, scope: Scope, shard: int) -> list[Work]:
        """Components: the selection's own, and the checker's identity. Open rows are taken up again."""
        checkers = {corpus: checker_of(settings, store).identity for corpus, settings in scope.settings.items()}
        sampling = {corpus: settings.fingerprint("sampling") for corpus, settings in scope.settings.items()}
        corpora = loading.corpora_of(store, shard)
        code = engine("checkers/grading", "checkers/retrieval", "stages/grading", "sampling")
        unfinished = set(
            store.read("verdicts", shard, columns=["document_key", "not_checked_reason"]).filter(
                pl.col("not_checked_reason").is_in(list(OPEN_REASONS))
            )["document_key"]
        )
        return [
            Work(
                work.document_key,
                {
                    **work.components,
                    "engine": hash_of(work.components["engine"], code),
                    "configuration": hash_of(work.components["configuration"], sampling[corpora[work.document_key]]),
                    "checker": checkers[corpora[work.document_key]],
                },
                unfinished=work.document_key in unfinished,
            )
            for work in loading.read_works(store, scope, shard)
        ]

    def compute(self, store: Store, scope: Scope, shard: int, keys: list[str]) -> dict[str, pl.DataFrame]:
        """Grade the selected pairs of the named documents."""
        run = Run(scope.run_id, scope.started_at, scope.recheck)
        checkers = {corpus: checker_of(settings, store, run) for corpus, settings in scope.settings.items()}
        corpora = loading.corpora_of(store, shard)
        idle = [key for key in keys if isinstance(checkers[corpora[key]], NoChecker)]
        reading = sorted(set(keys) - set(idle))
        rows: list[VerdictRow] = []
        for chunk in chunks(_items(store, shard, reading)):
            for corpus in sorted({corpora[item.document.document_key] for item in chunk}):
                checker = checkers[corpus]
                items = [item for item in chunk if item.document.corpus == corpus]
                outcomes = checker.check(items, WordRetriever())
                rows += [graded(*both, checker.name) for both in zip(items, outcomes, strict=True)]
        return {"verdicts": pl.concat([_unread(store, shard, keys, idle), tables.frame("verdicts", rows)])}


def asks_a_model(scope: Scope) -> bool:
    """Whether a corpus in scope is read by a model whose answers are kept: one ledger, so one machine."""
    return any(settings.checker.kind in ("openai", "embedded+openai") for settings in scope.settings.values())


def estimate(store: Store, scope: Scope) -> Estimate:
    """What grading would send to the model and cost, from the selection that is stored. Sends nothing.

    UsageError when a corpus in scope is not read by a model.
    """
    from verification_pipeline.checkers.llm.checker import LLMChecker  # slow to load, and only an estimate needs it
    from verification_pipeline.checkers.llm.money import Estimate

    run = Run(scope.run_id, scope.started_at, scope.recheck)
    checkers = {corpus: checker_of(settings, store, run) for corpus, settings in scope.settings.items()}
    total = Estimate(0, 0, 0, 0, 0, 0, 0.0)
    for corpus, checker in sorted(checkers.items()):
        if not isinstance(checker, LLMChecker):
            raise UsageError(f"--estimate is for --checker openai: corpus {corpus!r} is read by {checker.name!r}")
    for shard in range(store.shards):
        stale = [work.document_key for work in loading.read_works(store, scope, shard)]
        for chunk in chunks(_items(store, shard, stale)):
            for corpus, checker in sorted(checkers.items()):
                items = [item for item in chunk if item.document.corpus == corpus]
                if items and isinstance(checker, LLMChecker):
                    total += checker.estimate(items, WordRetriever())
    return total


def selected_items(store: Store, shard: int) -> Iterator[Item]:
    """Every selected pair of a shard with its document and evidence."""
    return _items(store, shard, store.read("documents", shard, columns=["document_key"])["document_key"].to_list())


def _unread(store: Store, shard: int, keys: list[str], idle: list[str]) -> pl.DataFrame:
    """Rows of the pairs that no checker is given: uncheckable ones, those outside the sample, and of `idle` documents,
    which have no checker, all. No text is opened for them."""
    pairs = loading.of_documents(store.read("pairs", shard, columns=["pair_id", "document_key", "reason"]), keys)
    outcomes = store.read("triage", shard, columns=["pair_id", "outcome"])
    selected = store.read("batches", shard, columns=["pair_id", "selected"])
    waiting = pairs.join(selected, on="pair_id").with_columns(checker=None)
    uncheckable = outcomes.filter(pl.col("outcome") == "uncheckable")
    unreadable = pairs.join(uncheckable, on="pair_id", how="semi").with_columns(pl.col("reason").fill_null("no-text"))
    skipped = waiting.filter(~pl.col("selected")).with_columns(reason=pl.lit("not-selected"))
    without = loading.of_documents(waiting.filter("selected"), idle)
    nobody = without.with_columns(reason=pl.lit("checker-none"), checker=pl.lit(NoChecker().name))
    rows = pl.concat([unreadable, skipped.drop("selected"), nobody.drop("selected")], how="diagonal_relaxed")
    known = {"checked": pl.lit(False), "contradicted": pl.lit(False), "not_checked_reason": pl.col("reason")}
    schema = tables.TABLES["verdicts"].schema
    present = ("pair_id", "document_key", "checker")
    return rows.select(
        **{
            name: (pl.col(name) if name in present else known.get(name, pl.lit(None))).cast(dtype)
            for name, dtype in schema.items()
        }
    )


def _items(store: Store, shard: int, keys: list[str]) -> Iterator[Item]:
    """Selected pairs with their document and evidence, document by document."""
    selected = store.read("batches", shard, columns=["pair_id", "selected"]).filter(pl.col("selected"))
    pairs = loading.grouped(
        loading.of_documents(store.read("pairs", shard), keys)
        .join(selected, on="pair_id", how="semi")
        .sort("document_key", "pair_index")
    )
    reader = loading.TextReader(store)
    sources = loading.own_sources(store, shard, keys)
    for owned in loading.documents_with_sources(store, shard, sorted(pairs), reader):
        key = owned.document.document_key
        evidence = loading.evidence_of(sources.get(key, ()), reader)
        for pair in loading.pairs_of(pairs[key]):
            yield Item(pair, owned.document, evidence[pair.source_key or ""], evidence)


def chunks(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Items in lists of bounded length that never cut a document in two."""
    chunk: list[Item] = []
    for item in items:
        if len(chunk) >= _ITEMS_AT_ONCE and chunk[-1].document is not item.document:
            yield chunk
            chunk = []
        chunk.append(item)
    if chunk:
        yield chunk
