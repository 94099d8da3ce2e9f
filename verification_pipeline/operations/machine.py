"""Is this machine fit for a night: versions, cores, memory, room on the disk. Knows nothing of what a store holds."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from verification_pipeline import __version__
from verification_pipeline.operations.findings import Finding

PACKAGE = "verification-pipeline"
_MEGABYTE = 1_000_000
_BASE_BYTES = 1_200 * _MEGABYTE
"""What a night takes besides its workers: the command, and DuckDB up to its default limit of 1 GB."""
_WORKER_BYTES = 400 * _MEGABYTE
"""Peak of one worker process over shards of ordinary documents."""
_LEAST_FREE = 200 * _MEGABYTE


def versions() -> Iterator[Finding]:
    """Whether the libraries installed are those that this package was made for."""
    here = f"verification-pipeline {__version__}, Python {platform.python_version()}"
    try:
        requirements = [Requirement(line) for line in metadata.requires(PACKAGE) or ()]
    except metadata.PackageNotFoundError:
        yield Finding("versions", "warning", f"{here}; not installed as a package", f"pip install {PACKAGE}")
        return
    needed = [one for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]
    faults = [fault for one in needed if (fault := _fault_of(one))]
    if faults:
        yield Finding("versions", "failed", "; ".join(faults), f"pip install --upgrade {PACKAGE}")
    else:
        chief = ", ".join(f"{name} {metadata.version(name)}" for name in ("polars", "duckdb", "dagster"))
        yield Finding("versions", "ok", f"{here}, {chief}; {len(needed)} libraries within their ranges")


def _fault_of(requirement: Requirement) -> str | None:
    try:
        found = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed ({requirement.specifier} is needed)"
    if requirement.specifier.contains(found, prereleases=True):
        return None
    return f"{requirement.name} {found} is outside {requirement.specifier}"


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def processors(available: int | None = None) -> Iterator[Finding]:
    """Cores, and memory for as many workers."""
    count = cores()
    free = available_memory() if available is None else available
    if free is None:
        yield Finding("memory", "warning", f"{count} cores; free memory is unknown on this system")
        return
    workers = max(0, free - _BASE_BYTES) // _WORKER_BYTES
    words = f"{count} cores, {free / 1e9:.1f} GB of memory free"
    if workers >= count:
        yield Finding("memory", "ok", words)
    elif workers >= 1:
        yield Finding("memory", "warning", f"{words}: not enough for {count} workers", f"run with --workers {workers}")
    else:
        advice = "free memory, or run with --workers 1 and a smaller duckdb_file.memory_limit"
        yield Finding("memory", "warning", f"{words}: little even for one worker", advice)


def available_memory() -> int | None:
    """Bytes that may still be used, by the system and by the process's control group; None where nobody says."""
    found = [value for value in (_system_memory(), _group_memory()) if value is not None]
    return min(found, default=None)


def _system_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _group_memory() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return max(0, int(limit) - used) if limit.isdigit() else None


def disk(folder: Path) -> Iterator[Finding]:
    """Whether the folder of a store can be written, and has room for the next night."""
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        advice = "make it writable for the user that runs nights, or name another --out"
        yield Finding("disk", "failed", f"{place} cannot be written: {error.strerror}", advice)
        return
    free, needed = shutil.disk_usage(place).free, _room_needed(folder)
    words = f"{free / 1e9:.1f} GB free, a night may need {needed / 1e9:.1f} GB at once"
    if free < _LEAST_FREE:
        yield Finding("disk", "failed", words, "free room on the disk: see `prune`")
    elif free < needed:
        yield Finding("disk", "warning", words, "free room on the disk: see `prune`")
    else:
        yield Finding("disk", "ok", words)


def _room_needed(folder: Path) -> int:
    """The DuckDB file is built beside the old one, and every table file is written beside the one it replaces."""
    held = folder / "verification.duckdb"
    tables = (path.stat().st_size for path in (folder / "tables").rglob("*.parquet"))
    return (held.stat().st_size if held.is_file() else 0) + max(tables, default=0) + _LEAST_FREE
