"""A deployment of the pipeline as an operator writes one, for tests of a night that is shared out among processes.

The steps are processes of this machine, forked from a server that has loaded everything. It knows the environment that
it was started in, so each step is handed its own. Two folders stand for two machines: a step takes the next one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import uuid
from pathlib import Path
from typing import Any

import dagster as dg

from assets import resources
from assets.definitions import build_defs
from verification_pipeline.store import Store

STEPS = dg.multiprocess_executor.configured(
    {"max_concurrent": 2, "start_method": {"forkserver": {"preload_modules": [__name__]}}}
)
_IN_THE_MIDDLE = "doi_mentions"
"""A table that readers alone write, after others and before they say which documents are read."""


def job(machines: Path) -> Any:
    """The job, to be executed; below the folder `machines` a file in `kills` stands for each reader to be killed."""
    given = {name: value for name, value in os.environ.items() if name.startswith(("VERIFICATION_", "AWS_"))}
    handed = {"machines": str(machines), "environment": given}
    return dg.build_reconstructable_job(__name__, "nightly_spread", reconstructable_kwargs=handed)


def nightly_spread(machines: str, environment: dict[str, str]) -> dg.JobDefinition:
    """The job, as every process of the run makes it anew."""
    if multiprocessing.parent_process() is not None:
        os.environ.update(environment)
        _kill_readers(Path(machines) / "kills")

    def on_the_next_machine(_: Any) -> dict[str, Any]:
        (Path(machines) / "turns").mkdir(parents=True, exist_ok=True)
        (Path(machines) / "turns" / uuid.uuid4().hex).touch()
        machine = len(list((Path(machines) / "turns").iterdir())) % 2
        return {**resources._environment({}), "local": str(Path(machines) / f"machine-{machine}")}

    night = resources.night_resource.configured(on_the_next_machine, config_schema={})
    return build_defs(spread_by=STEPS, night=night).resolve_job_def("nightly_spread")


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
