"""The night as a resource: opened once a run, with the store's lock and the worker processes."""

import os
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from verification_pipeline.night import Night, Options, open_night


@dg.resource(
    description="Where the store is and which corpora are verified; assets get the open night.",
    config_schema={
        "out": dg.Field(str, default_value="out/nightly", description="Folder of the store."),
        "corpora": dg.Field([str], default_value=[], description="Corpora; none: the embedded sample."),
        "config_file": dg.Field(str, default_value="", description="Settings file (TOML)."),
        "workers": dg.Field(int, default_value=0, description="Worker processes; 0: all cores."),
    },
)
def night_resource(context: dg.InitResourceContext) -> Iterator[Night]:
    """Open the night for the length of a run."""
    given = context.resource_config
    options = Options(
        out=Path(given["out"]),
        corpora=tuple(map(Path, given["corpora"])),
        config_file=Path(given["config_file"]) if given["config_file"] else None,
        workers=given["workers"] or os.cpu_count() or 1,
    )
    with open_night(options) as night:
        yield night


def from_environment() -> dg.ResourceDefinition:
    """The night that `dagster dev` and the schedule open: VERIFICATION_OUT, _CORPORA (`:`-separated), _CONFIG."""
    corpora = os.environ.get("VERIFICATION_CORPORA", "")
    return night_resource.configured(
        {
            "out": os.environ.get("VERIFICATION_OUT", "out/nightly"),
            "corpora": [part for part in corpora.split(os.pathsep) if part],
            "config_file": os.environ.get("VERIFICATION_CONFIG", ""),
        }
    )
