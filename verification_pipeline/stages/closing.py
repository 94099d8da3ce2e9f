"""The close of a night: changes, metrics, costs, the row of `runs`, the next baseline, the DuckDB file, the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

import polars as pl

from verification_pipeline import __version__, duckdb_file, fleet, tables
from verification_pipeline.night import Night
from verification_pipeline.receipts.causes import UNEXPLAINED
from verification_pipeline.stages import exposure
from verification_pipeline.stages.assembling import announce_baseline, count_metrics, record_changes, settle_baseline
from verification_pipeline.summary import summarise


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of `runs`."""

    run_id: str
    night: date
    started_at: datetime
    finished_at: datetime | None
    engine: str
    configuration_hash: str
    checker: str
    corpora: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class CostRow:
    """A row of `costs`."""

    run_id: str
    document_key: str
    llm_pairs: int
    cents: float


def record_run(night: Night, *, finished: bool) -> None:
    """Write the run's row: at its start without an end, at its end with it."""
    row = RunRow(
        run_id=night.run_id,
        night=night.day,
        started_at=night.started_at,
        finished_at=datetime.now(UTC) if finished else None,
        engine=__version__,
        configuration_hash=night.settings.fingerprint(),
        checker=night.settings.checker.kind,
        corpora=tuple(sorted(night.scope.settings)),
        complete=finished and summarise(night.store, night.scope.settings).complete,
    )
    others = night.store.read("runs").filter(pl.col("run_id") != night.run_id)
    night.store.write("runs", pl.concat([others, tables.frame("runs", [row])]))


def record_costs(night: Night) -> int:
    """Bring `costs` up to the ledger: this run, a killed one before it, and those whose batches came in since."""
    folder = night.store.root / "llm"
    if not folder.is_dir():
        return 0
    from verification_pipeline.checkers.llm.ledger import Ledger
    from verification_pipeline.checkers.llm.money import allocated, runs_paid_since

    ended = night.store.read("runs")["finished_at"].max()
    with Ledger(folder) as ledger:
        runs = runs_paid_since(ledger, ended.timestamp() if isinstance(ended, datetime) else 0.0)
        paid = {run: allocated(ledger, run) for run in runs}
    rows = [CostRow(run, key, cost.llm_pairs, cost.cents) for run, costs in paid.items() for key, cost in costs.items()]
    if rows:
        others = night.store.read("costs").filter(~pl.col("run_id").is_in(runs))
        night.store.write("costs", pl.concat([others, tables.frame("costs", rows)]))
    return len(rows)


def close(night: Night) -> dict[str, int]:
    """Everything after the receipts, in the order in which a kill leaves least to repeat; rows written by table."""
    store = night.store
    changes = record_changes(night)
    fresh = count_metrics(night)
    store.write("metrics", pl.concat([store.read("metrics").filter(pl.col("run_id") != night.run_id), fresh]))
    costs = record_costs(night)  # before the run counts as finished: it looks back to the last one that did
    announce_baseline(night)
    record_run(night, finished=True)
    settle_baseline(store)
    duckdb_file.build(
        store.tables_folder(), store.root / "verification.duckdb", night.settings.duckdb_file, store.shards
    )
    exposure.write_file(store)
    fleet.write(store)
    night.progress("closing", 1, 1)
    unexplained = changes.filter(cause=UNEXPLAINED).height
    return {"changes": changes.height, "metrics": fresh.height, "runs": 1, "costs": costs, "unexplained": unexplained}
