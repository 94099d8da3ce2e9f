"""One run over a store: what it works on, with which settings, under which id, and who may interrupt it.

Options, corpora and configuration come in as they were given and are checked here, once. The stages take the
`Night` that results; the command and the orchestrator build it the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verification_pipeline import config, corpora, shipped
from verification_pipeline.config import Settings
from verification_pipeline.corpus.archive import Archive, open_archive
from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of
from verification_pipeline.shards import Progress, Scope, Workers, workers
from verification_pipeline.stages.waiving import Waivers, read_waivers
from verification_pipeline.store import Store

if TYPE_CHECKING:
    from verification_pipeline.bucket import Bucket


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asks for, before anything is opened."""

    out: Path | Bucket
    corpora: tuple[Path, ...] = ()
    """Empty: the embedded sample."""
    config_file: Path | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the command line, nested as in a configuration file."""
    documents: tuple[str, ...] = ()
    recheck: bool = False
    workers: int = 1
    html: bool = False
    """A page for every receipt."""


@dataclass(frozen=True, slots=True)
class Night:
    """One run."""

    run_id: str
    started_at: datetime
    store: Store
    archives: tuple[Archive, ...]
    settings: Settings
    scope: Scope
    pool: Workers
    progress: Progress
    html: bool = False
    waivers: Waivers = field(default_factory=dict)

    @property
    def day(self) -> date:
        """The night (UTC day) the run belongs to."""
        return self.started_at.date()


def sample() -> Path:
    """The corpus that ships with the package."""
    return shipped.folder("data") / "sample"


@contextmanager
def open_night(options: Options, progress: Progress = lambda *_: None) -> Iterator[Night]:
    """Check the options, open and lock the store, start the workers. UsageError, StoreError, StoreBusy."""
    archives = tuple(open_archive(path) for path in options.corpora or (sample(),))
    _refuse_repeated_names(archives)
    base = config.read_toml(options.config_file) if options.config_file else {}
    settings = config.load(base, options.overrides)
    by_corpus = {archive.name: _settings_of(archive, base, options.overrides) for archive in archives}
    waivers = read_waivers(by_corpus)
    started = datetime.now(UTC)
    store = Store.open(options.out, shards=settings.storage.shards)
    with store.locked(), workers(options.workers) as pool:
        run_id = hash_of("run", started.isoformat(), *by_corpus)[:16]
        corpora.remember(store, {archive.name: archive.path for archive in archives})
        scope = Scope(by_corpus, frozenset(options.documents), options.recheck, run_id, started.timestamp())
        yield Night(run_id, started, store, archives, settings, scope, pool, progress, options.html, waivers)


def _refuse_repeated_names(archives: Sequence[Archive]) -> None:
    names = [archive.name for archive in archives]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(
            f"two corpora are called {repeated[0]!r}: a corpus is known by its folder or file name; rename one"
        )


def _settings_of(archive: Archive, base: Mapping[str, Any], overrides: Mapping[str, Any]) -> Settings:
    """command line > corpus.toml > --config file > defaults; relative paths of corpus.toml are the corpus's own."""
    own = {
        section: {
            name: str(archive.resolve(Path(value))) if (section, name) in _PATHS else value
            for name, value in values.items()
        }
        if isinstance(values, Mapping)
        else values
        for section, values in archive.settings.items()
    }
    beside: dict[str, dict[str, str]] = {}
    for (section, name), file in _BESIDE.items() if archive.format != "bundle" else ():
        if (found := archive.resolve(Path(file))).is_file():
            beside[section] = {name: str(found)}
    return config.load(base, beside, own, overrides, where=f"configuration of corpus {archive.name!r}")


_BESIDE = {("checker", "replay_path"): "answers.jsonl", ("policy", "waivers"): "waivers.toml"}
"""Settings whose file a folder or vault may simply hold."""
_PATHS = {*_BESIDE, ("registers", "retraction_watch")}
