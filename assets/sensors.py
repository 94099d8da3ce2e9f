"""What starts a night besides the clock: a corpus that arrived, a renewed register file, answers of a model's batch.

A sensor looks and asks for a run; what is new in a corpus or a register is found out by the night, to which what did
not change costs nothing.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from assets import resources
from assets.jobs import NIGHT
from verification_pipeline import config
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.config import Settings
from verification_pipeline.corpora import places
from verification_pipeline.corpus.archive import open_archive
from verification_pipeline.stages.works import last_registers

SETTLED_SECONDS = 60.0
"""A file or corpus that was modified since is still being copied."""


@dg.sensor(
    job_name=NIGHT,
    minimum_interval_seconds=120,
    description="Starts a night when a corpus lies in VERIFICATION_ARCHIVES that the store does not know.",
)
def corpus_arrived(_: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Ask for one run for all corpora that arrived and are no longer being copied."""
    known = _known_corpora()
    new = [path for path in resources.corpora() if open_archive(path).name not in known]
    still = [path for path in new if _last_modified(path) > time.time() - SETTLED_SECONDS]
    names = sorted(path.name for path in new if path not in still)
    if names:
        yield dg.RunRequest(run_key=f"arrived: {' '.join(names)}", tags={"reason": f"{len(names)} corpora arrived"})
    else:
        yield dg.SkipReason(f"{len(still)} corpora are still being copied" if still else "no corpus is new")


def _known_corpora() -> set[str]:
    store = resources.opened()
    return set() if store is None else set(places(store))


def _last_modified(corpus: Path) -> float:
    files = (file.modified_ns for file in open_archive(corpus).files())
    return max(files, default=0) / 1e9


@dg.sensor(
    job_name=NIGHT,
    minimum_interval_seconds=300,
    description="Starts a night when the Retraction Watch file was renewed: statuses and receipts follow it.",
)
def register_renewed(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Compare the file with what it was at the last look; the cursor holds its size and time."""
    path = _register_file()
    if path is None or not path.is_file():
        yield dg.SkipReason("no Retraction Watch file is configured" if path is None else f"{path} is missing")
        return
    state = path.stat()
    stamp = f"{path}:{state.st_size}:{state.st_mtime_ns}"
    if context.cursor == stamp:
        yield dg.SkipReason(f"{path} is as it was")
    elif state.st_mtime > time.time() - SETTLED_SECONDS:
        yield dg.SkipReason(f"{path} is still being written")
    else:
        first = not context.cursor
        context.update_cursor(stamp)
        if first:
            yield dg.SkipReason(f"{path} is watched from now on")
        else:
            yield dg.RunRequest(run_key=f"renewed: {stamp}", tags={"reason": "register renewed"})


def _register_file() -> Path | None:
    """The file of the settings, else that of the last night."""
    named = _settings().registers.retraction_watch
    store = resources.opened() if named is None else None
    return named if store is None else last_registers(store).retraction_watch


@dg.sensor(
    job_name=NIGHT,
    minimum_interval_seconds=300,
    description="Takes open batches as far as they go; a night collects what they brought.",
)
def batch_finished(_: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Poll the batches of VERIFICATION_OUT; no run is held open while a provider works."""
    out = resources.out()
    folder = (out if isinstance(out, Path) else out.folder) / "llm"
    if not folder.is_dir():
        yield dg.SkipReason("no model was asked yet")
        return
    from verification_pipeline.checkers.llm import batch  # slow to load, and only an open batch needs the client

    with Ledger(folder) as ledger:
        progress = batch.advance(ledger, _settings().checker.openai)
    if progress.collected:
        yield dg.RunRequest(tags={"reason": f"{progress.collected} batches collected"})
    else:
        yield dg.SkipReason(f"{progress.running} batches running, {progress.waiting} waiting")


def _settings() -> Settings:
    file = resources.config_file()
    return config.load(config.read_toml(file) if file else {})
