"""A deployment of the pipeline as an operator writes one, for tests of a night that is shared out among processes.

The steps are processes of this machine, forked from a server that has loaded everything. Two folders stand for two
machines: a step takes the next one.
"""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path
from typing import Any

import dagster as dg

from assets import resources
from assets.definitions import build_defs
from verification_pipeline.store import Store

MACHINES = "MACHINES"
"""Variable: the folder below which the machines' folders lie, and `kills`: one file for each reader to be killed."""

STEPS = dg.multiprocess_executor.configured(
    {"max_concurrent": 2, "start_method": {"forkserver": {"preload_modules": [__name__]}}}
)
_IN_THE_MIDDLE = "doi_mentions"
"""A table that readers alone write, after others and before they say which documents are read."""


def nightly_spread() -> dg.JobDefinition:
    """The job, as every process of the run makes it anew."""
    _kill_readers(Path(os.environ[MACHINES]) / "kills")
    night = resources.night_resource.configured(_on_the_next_machine, config_schema={})
    return build_defs(spread_by=STEPS, night=night).resolve_job_def("nightly_spread")


def _on_the_next_machine(_: Any) -> dict[str, Any]:
    folder = Path(os.environ[MACHINES])
    (folder / "turns").mkdir(parents=True, exist_ok=True)
    (folder / "turns" / uuid.uuid4().hex).touch()
    machine = len(list((folder / "turns").iterdir())) % 2
    return {**resources._environment({}), "local": str(folder / f"machine-{machine}")}


def _kill_readers(kills: Path) -> None:
    """Have this process killed in the middle of its reading while there are kills left."""
    write = Store.write

    def dying(store: Store, name: str, *arguments: Any, **named: Any) -> None:
        left = sorted(kills.iterdir()) if name == _IN_THE_MIDDLE and kills.is_dir() else []
        if left:
            left[0].unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        write(store, name, *arguments, **named)

    if kills.is_dir() and any(kills.iterdir()):
        Store.write = dying  # type: ignore[method-assign]
