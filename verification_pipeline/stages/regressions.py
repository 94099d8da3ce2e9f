"""Documents that had cleared the gate the night before and do not any more, with the cause that `changes` gives."""

from __future__ import annotations

import polars as pl

from verification_pipeline.store import Store

PASSED = "passed"


def gate_regressions(store: Store, run_id: str) -> pl.DataFrame:
    """(corpus, document_id, state, cause) of the documents whose state a run saw move away from `passed`."""
    moved = store.read("changes").filter(run_id=run_id, what="state", before=PASSED)
    names = store.read_all("documents", ["document_key", "corpus", "document_id"])
    found = moved.join(names, on="document_key", how="inner")
    return found.select("corpus", "document_id", pl.col("after").alias("state"), "cause").sort("corpus", "document_id")
