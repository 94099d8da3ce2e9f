"""The examination: which probes are put to a machine, a store and the servers it needs, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verification_pipeline import config
from verification_pipeline.config import Registers, Settings
from verification_pipeline.errors import NoStore, StoreBusy, StoreError
from verification_pipeline.operations import health, machine, reach, staleness
from verification_pipeline.operations.findings import Finding, Probe, told
from verification_pipeline.stages.works import last_registers
from verification_pipeline.store import Store

if TYPE_CHECKING:
    from verification_pipeline.bucket import Bucket


def examine(out: Path | Bucket, base: Mapping[str, Any], *, online: bool) -> Iterator[Finding]:
    """Findings about this machine, the store in `out` and, on request, the servers that the settings name.

    `base` is a configuration as read from a file; registers that it does not name are those of the last night.
    """
    settings = config.load(base)
    yield from told("versions", machine.versions)
    yield from told("memory", machine.processors)
    yield from told("disk", partial(machine.disk, out if isinstance(out, Path) else out.folder))
    store = None
    try:
        store = Store.open(out, create=False)
    except NoStore:
        name = out if isinstance(out, Path) else out.url
        yield Finding("store", "warning", f"{name} holds no store yet", "run")
    except (StoreError, StoreBusy) as error:
        yield Finding("store", "failed", str(error), "see docs/operations.md, Repairs")
    for subject, probe in _probes(store, settings, base, online):
        yield from told(subject, probe)


def _probes(
    store: Store | None, settings: Settings, base: Mapping[str, Any], online: bool
) -> Iterator[tuple[str, Probe]]:
    if store is not None:
        yield "lock", partial(health.lock, store)
        yield "tables", partial(health.tables, store)
        yield "texts", partial(health.texts, store)
        yield "leftovers", partial(health.leftovers, store)
        yield "nights", partial(health.nights, store)
        yield "outputs", partial(health.outputs, store)
        yield "ledger", partial(staleness.pending, store)
        yield "corpora", partial(staleness.moved_files, store)
    registers = _registers(store, settings, base)
    yield "registers", partial(staleness.registers, store, registers)
    if online:
        yield "registers reachable", partial(reach.registers, registers)
    if "openai" in settings.checker.kind:
        yield "model key", partial(reach.key_is_set, settings.checker.openai)
        if online:
            yield "model reachable", partial(reach.model, settings.checker.openai)


def _registers(store: Store | None, settings: Settings, base: Mapping[str, Any]) -> Registers:
    return settings.registers if store is None or "registers" in base else last_registers(store)
