"""One whole night through the orchestrator, in this process, for tests of stages that build on each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assets.definitions import build_defs
from verification_pipeline.night import Options, open_night
from verification_pipeline.store import Store

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def verify(out: Path, *corpora: Path, **overrides: Mapping[str, Any]) -> Store:
    """Verify corpora into `out` with settings overrides by section; returns the store."""
    with open_night(Options(out, corpora, overrides=overrides)) as night:
        build_defs(night=night).resolve_job_def("nightly").execute_in_process(run_config=QUIET)
        return night.store
