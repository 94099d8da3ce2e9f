"""A deployment of the pipeline as an operator writes one, for tests of a night that is shared out among processes.

The steps are processes of this machine, forked from a server that has loaded everything. Two folders stand for two
machines: a step takes the next one.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import dagster as dg

from assets import resources
from assets.definitions import build_defs

MACHINES = "MACHINES"
"""Variable: the folder below which the machines' folders lie."""

STEPS = dg.multiprocess_executor.configured(
    {"max_concurrent": 2, "start_method": {"forkserver": {"preload_modules": [__name__]}}}
)


def _on_the_next_machine(_: Any) -> dict[str, Any]:
    folder = Path(os.environ[MACHINES])
    (folder / "turns").mkdir(parents=True, exist_ok=True)
    (folder / "turns" / uuid.uuid4().hex).touch()
    machine = len(list((folder / "turns").iterdir())) % 2
    return {**resources._environment({}), "local": str(folder / f"machine-{machine}")}


def nightly_spread() -> dg.JobDefinition:
    """The job, as every process of the run makes it anew."""
    night = resources.night_resource.configured(_on_the_next_machine, config_schema={})
    return build_defs(spread_by=STEPS, night=night).resolve_job_def("nightly_spread")
