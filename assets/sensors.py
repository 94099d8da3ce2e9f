"""What starts a night besides the clock: answers of a model's batch that have come in."""

import os
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from assets.jobs import nightly
from verification_pipeline import config
from verification_pipeline.checkers.llm import batch
from verification_pipeline.checkers.llm.ledger import Ledger


@dg.sensor(
    job=nightly,
    minimum_interval_seconds=300,
    description="Takes open batches as far as they go; a night collects what they brought.",
)
def batch_finished() -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Poll the batches of VERIFICATION_OUT; no run is held open while a provider works."""
    folder = Path(os.environ.get("VERIFICATION_OUT", "out/nightly")) / "llm"
    if not folder.is_dir():
        yield dg.SkipReason("no model was asked yet")
        return
    file = os.environ.get("VERIFICATION_CONFIG")
    rules = config.load(config.read_toml(Path(file)) if file else {}).checker.openai
    with Ledger(folder) as ledger:
        progress = batch.advance(ledger, rules)
    if progress.collected:
        yield dg.RunRequest(tags={"reason": f"{progress.collected} batches collected"})
    else:
        yield dg.SkipReason(f"{progress.running} batches running, {progress.waiting} waiting")
