"""The night as a resource: opened once in a process, with the store's lock and the worker processes; and the
environment variables that say, for schedules and sensors, which store and corpora are meant.

A run that is one process opens a night of its own. The steps of one that is shared out (`spread`) enter the run's
night together, and a run that goes on from a failed one goes on with its night."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.spread import groups_of, lineage
from verification_pipeline.corpus.archive import open_archive
from verification_pipeline.errors import NoStore, StoreBusy, UsageError
from verification_pipeline.keys import hash_of
from verification_pipeline.night import Night, Options, open_night
from verification_pipeline.shared_night import open_shared_night
from verification_pipeline.store import Store

if TYPE_CHECKING:
    from verification_pipeline.bucket import Bucket

DEFAULT_OUT = "out/nightly"
_PAUSE_SECONDS = 10.0


@dg.resource(
    description="Where the store is and which corpora are verified; assets get the open night.",
    config_schema={
        "out": dg.Field(str, default_value=DEFAULT_OUT, description="Folder or address of the store."),
        "local": dg.Field(str, default_value="", description="Folder for copies, where the store is an address."),
        "corpora": dg.Field([str], default_value=[], description="Corpora; none: the embedded sample."),
        "config_file": dg.Field(str, default_value="", description="Settings file (TOML)."),
        "workers": dg.Field(int, default_value=0, description="Worker processes; 0: all cores."),
        "wait_minutes": dg.Field(float, default_value=0.0, description="How long to wait for a store that is held."),
        "lease_minutes": dg.Field(
            float, default_value=15.0, description="How long a run that is shared out holds its store between steps."
        ),
    },
)
def night_resource(context: dg.InitResourceContext) -> Iterator[Night]:
    """Open the night for the length of a run, or of a step of it."""
    given = context.resource_config
    options = Options(
        out=_place(given["out"], given["local"] or None),
        corpora=tuple(map(Path, given["corpora"])),
        config_file=Path(given["config_file"]) if given["config_file"] else None,
        workers=given["workers"] or os.cpu_count() or 1,
    )
    with ExitStack() as stack:
        yield _opened(stack, partial(_opening(context), options), given["wait_minutes"] * 60)


def _opening(context: dg.InitResourceContext) -> Callable[[Options], AbstractContextManager[Night]]:
    """How the night of a run is opened: by one process, or by many."""
    run, instance = context.run, context.instance
    if run is None or instance is None or groups_of(run.tags) is None:
        return open_night
    run_id = hash_of("run", lineage(instance, run)[-1].run_id)[:16]
    seconds = context.resource_config["lease_minutes"] * 60

    def enter(options: Options) -> AbstractContextManager[Night]:
        place = options.out if isinstance(options.out, Path) else replace(options.out, lease_seconds=seconds)
        return open_shared_night(replace(options, out=place), run_id)

    return enter


def _opened(stack: ExitStack, opening: Callable[[], AbstractContextManager[Night]], patience: float) -> Night:
    """Open a night; a store that another run holds is asked for again until `patience` seconds are over."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return stack.enter_context(opening())
        except StoreBusy:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def from_environment() -> dg.ResourceDefinition:
    """The night that `dagster dev`, schedules and sensors open. The variables are read when a run starts."""
    return night_resource.configured(_environment, config_schema={})


def _environment(_: Mapping[str, Any]) -> dict[str, Any]:
    file = config_file()
    return {
        "out": os.environ.get("VERIFICATION_OUT", DEFAULT_OUT),
        "local": os.environ.get("VERIFICATION_LOCAL", ""),
        "corpora": [str(path) for path in corpora()],
        "config_file": "" if file is None else str(file),
        "workers": int(os.environ.get("VERIFICATION_WORKERS", "0")),
        "wait_minutes": float(os.environ.get("VERIFICATION_WAIT_MINUTES", "30")),
        "lease_minutes": float(os.environ.get("VERIFICATION_LEASE_MINUTES", "15")),
    }


def out() -> "Path | Bucket":
    """VERIFICATION_OUT: the folder or address of the store; VERIFICATION_LOCAL: the folder for copies of the latter."""
    return _place(os.environ.get("VERIFICATION_OUT", DEFAULT_OUT), os.environ.get("VERIFICATION_LOCAL"))


def _place(name: str, local: str | None) -> "Path | Bucket":
    if "://" not in name:
        return Path(name)
    from verification_pipeline.bucket import place_of  # its client is loaded only for stores that need it

    return place_of(name, local)


def opened() -> Store | None:
    """The store of these variables, if there is one yet."""
    try:
        return Store.open(out(), create=False)
    except NoStore:
        return None


def config_file() -> Path | None:
    """VERIFICATION_CONFIG: the settings file."""
    value = os.environ.get("VERIFICATION_CONFIG", "")
    return Path(value) if value else None


def corpora() -> list[Path]:
    """VERIFICATION_CORPORA (`:`-separated), and every corpus that lies in the folder VERIFICATION_ARCHIVES.

    UsageError: the folder is named and there is no corpus; an empty mount must not look like an archive without
    documents.
    """
    named = [Path(part) for part in os.environ.get("VERIFICATION_CORPORA", "").split(os.pathsep) if part]
    folder = os.environ.get("VERIFICATION_ARCHIVES", "")
    found = corpora_in(Path(folder)) if folder else []
    if folder and not named and not found:
        raise UsageError(f"{folder} (VERIFICATION_ARCHIVES) holds no corpus: is it mounted?")
    return named + found


def corpora_in(folder: Path) -> list[Path]:
    """The corpora that lie in a folder, by name; whatever else lies there is left alone."""
    return [path for path in sorted(folder.iterdir()) if _is_corpus(path)] if folder.is_dir() else []


def _is_corpus(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    try:
        open_archive(path)
    except UsageError:
        return False
    return True
