"""The selection of pairs that a checker reads: triage results into `batches`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from verification_pipeline import tables
from verification_pipeline.keys import hash_of
from verification_pipeline.sampling import select
from verification_pipeline.shards import Scope, Work, engine
from verification_pipeline.stages import loading
from verification_pipeline.store import Store


@dataclass(frozen=True, slots=True)
class Selection:
    """The stage, as `shards.run_stage` runs it."""

    name: str = "selection"
    tables: tuple[str, ...] = ("batches",)

    def survey(self, store: Store, scope: Scope, shard: int) -> list[Work]:
        """Components: the reading's own, and the sampling rules."""
        code = engine("sampling", "stages/selection")
        corpora = loading.corpora_of(store, shard)
        sampling = {corpus: settings.fingerprint("sampling") for corpus, settings in scope.settings.items()}
        return [
            Work(
                work.document_key,
                {
                    **work.components,
                    "engine": hash_of(work.components["engine"], code),
                    "configuration": hash_of(work.components["configuration"], sampling[corpora[work.document_key]]),
                },
            )
            for work in loading.read_works(store, scope, shard)
        ]

    def compute(self, store: Store, scope: Scope, shard: int, keys: list[str]) -> dict[str, pl.DataFrame]:
        """Select among the pairs that triage did not settle."""
        corpora = loading.corpora_of(store, shard)
        waiting = store.read("triage", shard, columns=["pair_id", "outcome"]).filter(
            pl.col("outcome") == "needs-checker"
        )
        pairs = loading.of_documents(store.read("pairs", shard), keys).join(
            waiting.select("pair_id"), on="pair_id", how="semi"
        )
        rows = [
            row
            for key, mine in loading.grouped(pairs).items()
            for row in select(loading.pairs_of(mine), scope.settings[corpora[key]].sampling)
        ]
        return {"batches": tables.frame("batches", rows)}
