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

from verification_pipeline import clock, config, corpora, shipped
from verification_pipeline.config import Settings
from verification_pipeline.corpus.archive import Archive, open_archive
from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of
from verification_pipeline.shards import Progress, Scope, Workers, workers
from verification_pipeline.stages.waiving import Waivers, read_waivers
from verification_pipeline.store import Store

if TYPE_CHECKING:
    from verification_pipeline.bucket import Bucket


TERMS_FILE = "run.json"
"""The terms of a night that several processes share (`shared_night`), in its store."""


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


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is to do and under which id, settled before it begins: the same for all who work on it."""

    run_id: str
    started_at: datetime
    corpora: tuple[Path, ...]
    settings: Settings
    by_corpus: Mapping[str, Settings]
    documents: frozenset[str]
    recheck: bool
    html: bool
    waivers: Waivers

    @property
    def scope(self) -> Scope:
        """What the stages need of them."""
        return Scope(self.by_corpus, self.documents, self.recheck, self.run_id, self.started_at.timestamp())


def settle(options: Options, run_id: str | None = None) -> Terms:
    """Check the options and read what they name: the terms of a run that begins now. UsageError.

    Without a `run_id` the run gets one of its own.
    """
    paths = options.corpora or (sample(),)
    archives = tuple(open_archive(path) for path in paths)
    _refuse_repeated_names(archives)
    base = config.read_toml(options.config_file) if options.config_file else {}
    settings = config.load(base, options.overrides)
    by_corpus = {archive.name: _settings_of(archive, base, options.overrides) for archive in archives}
    started = datetime.now(UTC)
    return Terms(
        run_id=run_id or hash_of("run", started.isoformat(), *by_corpus)[:16],
        started_at=started,
        corpora=paths,
        settings=settings,
        by_corpus=by_corpus,
        documents=frozenset(options.documents),
        recheck=options.recheck,
        html=options.html,
        waivers=read_waivers(by_corpus),
    )


@contextmanager
def open_night(options: Options, progress: Progress = lambda *_: None) -> Iterator[Night]:
    """Check the options, open and lock the store, start the workers. UsageError, StoreError, StoreBusy."""
    terms = settle(options)
    store = Store.open(options.out, shards=terms.settings.storage.shards)
    with store.locked() as held, workers(options.workers) as pool:
        _end_shared_night(held)
        yield night_of(terms, held, pool, progress)


def _end_shared_night(store: Store) -> None:
    """A night of several processes that did not end cannot go on after this one."""
    if store.bucket is not None and store.exists(store.root / TERMS_FILE):
        store.remove(store.root / TERMS_FILE)


def night_of(terms: Terms, store: Store, pool: Workers, progress: Progress) -> Night:
    """The night of these terms, in a store that is held. UsageError: a corpus is not where it was. StoreError."""
    clock.refuse_if_set_back(store)
    archives = tuple(map(open_archive, terms.corpora))
    corpora.remember(store, {archive.name: archive.path for archive in archives})
    return Night(
        run_id=terms.run_id,
        started_at=terms.started_at,
        store=store,
        archives=archives,
        settings=terms.settings,
        scope=terms.scope,
        pool=pool,
        progress=progress,
        html=terms.html,
        waivers=terms.waivers,
    )


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
