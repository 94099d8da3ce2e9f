"""A deployment of the pipeline as an operator writes one, for tests of a night that is shared out among processes.

The steps are processes of this machine, forked from a server that has loaded everything. It knows the environment that
it was started in, so each step is handed its own. Two folders stand for two machines: a step takes the next one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg

from assets import resources
from assets.definitions import build_defs
from verification_pipeline.store import Store

_STEPS = {"max_concurrent": 2, "start_method": {"forkserver": {"preload_modules": [__name__]}}}
_IN_THE_MIDDLE = "doi_mentions"
"""A table that readers alone write, after others and before they say which documents are read."""


def job(machines: Path, *, retries: bool = True) -> Any:
    """The job, to be executed, with or without another try for a step that fails.

    Below the folder `machines` a file in `kills` stands for each reader to be killed.
    """
    given = {name: value for name, value in os.environ.items() if name.startswith(("VERIFICATION_", "AWS_"))}
    handed = {"machines": str(machines), "environment": given, "retries": "enabled" if retries else "disabled"}
    return dg.build_reconstructable_job(__name__, "nightly_spread", reconstructable_kwargs=handed)


def nightly_spread(machines: str, environment: dict[str, str], retries: str) -> dg.JobDefinition:
    """The job, as every process of the run makes it anew."""
    if multiprocessing.parent_process() is not None:
        os.environ.update(environment)
        _kill_readers(Path(machines) / "kills")

    def here(_: Any) -> dict[str, Any]:
        return {**resources._environment({}), "local": str(_machine(Path(machines)))}

    night = resources.night_resource.configured(here, config_schema={})
    steps = dg.multiprocess_executor.configured({**_STEPS, "retries": {retries: {}}})
    return build_defs(spread_by=steps, night=night).resolve_job_def("nightly_spread")


@cache
def _machine(machines: Path) -> Path:
    """The folder of the machine that this process is on: the one after that of the process before."""
    turns = machines / "turns"
    turns.mkdir(parents=True, exist_ok=True)
    (turns / uuid.uuid4().hex).touch()
    return machines / f"machine-{len(list(turns.iterdir())) % 2}"


def _kill_readers(kills: Path) -> None:
    """Have this process killed in the middle of its reading while there are kills left."""
    write = Store.write

    def dying(store: Store, name: str, *arguments: Any, **named: Any) -> None:
        left = sorted(kills.iterdir()) if name == _IN_THE_MIDDLE and kills.is_dir() else []
        if left:
            left[0].unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        write(store, name, *arguments, **named)

    Store.write = dying  # type: ignore[method-assign]
