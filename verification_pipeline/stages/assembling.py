"""The assembly of receipts: a row and a JSON file for every document whose digest changed, and what changed why.

A receipt is made again when anything it is made from moved: the grading's fingerprint, its clusters, the statuses of
the works it cites, the policy or a waiver. Changes are counted against the baseline, the receipts of the last
completed night, so a night that was killed half-way does not hide what it changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime

import orjson
import polars as pl

from verification_pipeline import __version__, metrics, tables
from verification_pipeline.keys import hash_of
from verification_pipeline.night import Night
from verification_pipeline.receipts import changes
from verification_pipeline.receipts.assembly import ReceiptInputs, RunInfo, assemble, merge
from verification_pipeline.receipts.waivers import fingerprint
from verification_pipeline.shards import Scope, engine, read_fingerprints, write_fingerprints
from verification_pipeline.stages import loading, receipt_files, waiving
from verification_pipeline.stages.waiving import Waivers
from verification_pipeline.store import Store

NAME = "receipts"
STAGES = ("reading", "selection", "grading")
REGISTERS = ("retraction-watch", "crossref", "pubmed", "openalex")
_CODE = ("receipts", "stages/assembling")
_ANNOUNCED = "baseline-of"
"""File with the run whose receipts are to be the baseline; gone once they are."""


@dataclass(frozen=True, slots=True)
class ReceiptReport:
    """What the assembly did: receipts made, documents looked at, documents gone, pages written."""

    made: int = 0
    documents: int = 0
    gone: int = 0
    pages: int = 0

    def __add__(self, other: ReceiptReport) -> ReceiptReport:
        return ReceiptReport(
            self.made + other.made,
            self.documents + other.documents,
            self.gone + other.gone,
            self.pages + other.pages,
        )


@dataclass(frozen=True, slots=True)
class _Job:
    """What a worker needs of the night."""

    store: Store
    scope: Scope
    run: RunInfo
    waivers: Waivers
    html: bool


def run_info(night: Night) -> RunInfo:
    """The run's part of a receipt."""
    return RunInfo(
        run_id=night.run_id,
        created_at=night.started_at,
        day=night.day,
        as_of=night.day,
        engine=__version__,
        stages=STAGES,
        registers=REGISTERS,
        price_cents=_paid(night),
    )


def _paid(night: Night) -> dict[str, float]:
    """document_key → cents paid for a model's reading of it since the last night ended."""
    folder = night.store.root / "llm"
    if not folder.is_dir():
        return {}
    from verification_pipeline.checkers.llm.ledger import Ledger
    from verification_pipeline.checkers.llm.money import allocated

    ended = night.store.read("runs")["finished_at"].max()
    since = ended.timestamp() if isinstance(ended, datetime) else None
    with Ledger(folder) as ledger:
        return {key: cost.cents for key, cost in allocated(ledger, since=since).items()}


def assemble_receipts(night: Night) -> ReceiptReport:
    """Bring receipts and their files up to date in every shard."""
    settle_baseline(night.store)
    job = _Job(night.store, night.scope, run_info(night), night.waivers, night.html)
    shards = range(night.store.shards)
    total = ReceiptReport()
    for done, report in enumerate(night.pool.map(_assemble_shard, [job] * len(shards), shards), 1):
        total += report
        night.progress(NAME, done, len(shards))
    return total


def record_changes(night: Night) -> pl.DataFrame:
    """Rows of `changes` of this run against the baseline; written, with those of unfinished runs dropped."""
    store = night.store
    found = [tables.empty("changes"), *(_changes(store, night, shard) for shard in range(store.shards))]
    fresh = pl.concat(found)
    finished = store.read("runs").filter(pl.col("finished_at").is_not_null())["run_id"]
    stored = store.read("changes")
    old = stored.filter(pl.col("run_id").is_in(finished.implode()))
    if fresh.height or old.height < stored.height or not store.files("changes"):
        store.write("changes", pl.concat([old, fresh]))
    return fresh


def announce_baseline(night: Night) -> None:
    """Say that once this night counts as finished its receipts are the baseline: a kill may come before they are."""
    night.store.write_file(night.store.root / _ANNOUNCED, night.run_id.encode())


def settle_baseline(store: Store) -> None:
    """Make the receipts of a finished night that announced it what the next one compares with.

    Called at the end of a night, and by the next before it touches a receipt: the first may have been killed.
    """
    announced = store.root / _ANNOUNCED
    if not store.fetch(announced):
        return
    finished = store.read("runs").filter(pl.col("finished_at").is_not_null())["run_id"]
    if announced.read_text("utf-8") in finished:
        _set_baseline(store)
    store.remove(announced)


def _set_baseline(store: Store) -> None:
    for shard in range(store.shards):
        current = store.read("receipts", shard, columns=["document_key", "digest", "current"])
        found = read_fingerprints(store, NAME, shard)
        rows = [
            (key, digest, orjson.dumps(found.get(key, {}), option=orjson.OPT_SORT_KEYS).decode())
            for key, digest in current.filter(pl.col("current")).select("document_key", "digest").iter_rows()
        ]
        frame = pl.DataFrame(rows, schema=tables.TABLES["baselines"].schema, orient="row")
        if not frame.sort("document_key").equals(store.read("baselines", shard)):
            store.write("baselines", frame, shard)


def count_metrics(night: Night) -> pl.DataFrame:
    """Rows of `metrics` of this run, from the tallies of every shard."""
    store = night.store
    shards = range(store.shards)
    tallies = list(night.pool.map(_tally, [store] * len(shards), [night.day] * len(shards), shards))
    return metrics.compute(night.run_id, metrics.add(tallies), night.settings.metrics)


def _assemble_shard(job: _Job, shard: int) -> ReceiptReport:
    store = job.store
    works = _components(job, shard)
    stored = read_fingerprints(store, NAME, shard)
    present = set(store.read("documents", shard, columns=["document_key"])["document_key"])
    stale = [key for key, parts in works.items() if stored.get(key) != parts]
    gone = [key for key in stored if key not in present]
    made = _renew(job, shard, stale, gone) if stale or gone else 0
    if stale or gone:
        kept = {key: parts for key, parts in stored.items() if key in present}
        write_fingerprints(store, NAME, shard, {**kept, **works})
    pages = receipt_files.write_pages(store, job.scope, shard, every=job.html, moved=stale)
    return ReceiptReport(made, len(present), len(gone), pages)


def _renew(job: _Job, shard: int, stale: list[str], gone: list[str]) -> int:
    """Assemble the receipts of `stale` documents; how many have another digest."""
    store = job.store
    previous = store.read("receipts", shard)
    fresh = tables.empty("receipts")
    documents = loading.of_documents(store.read("documents", shard), stale)
    for corpus, settings in sorted(job.scope.settings.items()):
        mine = documents.filter(pl.col("corpus") == corpus)
        if mine.height:
            frames = inputs(store, shard, mine["document_key"].to_list(), job.run.as_of)
            run = replace(job.run, waivers=job.waivers.get(corpus, ()))
            fresh = pl.concat([fresh, assemble(frames, run, settings, previous)])
    merged = merge(previous, fresh, gone)
    if not merged.equals(previous):
        store.write("receipts", merged, shard)
    receipt_files.write_receipts(store, merged, documents)
    return fresh.height


def _components(job: _Job, shard: int) -> dict[str, dict[str, str]]:
    """document_key → components: the grading's own, with sampling apart from the rest of the configuration, then what
    a receipt is made from besides: the document's metadata, clusters, statuses, policy and waivers."""
    store = job.store
    graded = read_fingerprints(store, "grading", shard)
    read = read_fingerprints(store, "reading", shard)
    documents = loading.documents_in_scope(store, job.scope, shard)
    rows = _row_hashes(documents)
    statuses = _row_hashes(_statuses_by_document(store, shard, job.run.as_of))
    clusters = _row_hashes(store.read("clusters", shard))
    code = engine(*_CODE)
    waivers = waiving.touching(store, shard, documents, job.waivers, job.run.day)
    found = {}
    for key, corpus in documents.select("document_key", "corpus").iter_rows():
        parts = graded.get(key, {})
        settings = job.scope.settings[corpus]
        found[key] = {
            **parts,
            "document": hash_of(parts.get("document", ""), rows[key]),
            "configuration": read.get(key, {}).get("configuration", ""),
            "sampling": settings.fingerprint("sampling"),
            "engine": hash_of(parts.get("engine", ""), code, __version__.split("+")[0]),
            "source": hash_of(parts.get("source", ""), clusters.get(key, "")),
            "register": statuses.get(key, ""),
            "policy": str(settings.policy.allow_unsupported),
            "waiver": fingerprint(waivers.get(key, ())),
        }
    return found


def _statuses_by_document(store: Store, shard: int, day: date) -> pl.DataFrame:
    mentions = store.read("doi_mentions", shard, columns=["document_key", "work_id"])
    return mentions.join(loading.statuses_on(store, day), on="work_id", how="inner")


def _row_hashes(table: pl.DataFrame) -> dict[str, str]:
    """document_key → hash of all its rows of a table, in stored order."""
    place = table.columns.index("document_key")
    rows: dict[str, list[str]] = {}
    for row in table.iter_rows():
        rows.setdefault(row[place], []).append(repr(row))
    return {key: hash_of(*mine) for key, mine in rows.items()}


def inputs(store: Store, shard: int, keys: list[str], day: date) -> ReceiptInputs:
    """The frames that receipts of the named documents are made from."""
    frames: dict[str, pl.DataFrame] = {}
    for field in fields(ReceiptInputs):
        if field.name not in ("sources", "doi_statuses", "fingerprints"):
            frames[field.name] = loading.of_documents(store.read(field.name, shard), keys)
    works = frames["doi_mentions"]["work_id"].unique()
    frames["doi_statuses"] = loading.statuses_on(store, day).filter(pl.col("work_id").is_in(works.implode()))
    frames["sources"] = loading.linked_sources(store, shard, frames["document_sources"])
    stages = [store.read("fingerprints", shard, stage=stage).filter(pl.col("key").is_in(keys)) for stage in STAGES]
    failed = store.read("failures", shard).select(key="document_key", stage="stage")
    ran = pl.concat(stages).join(failed, on=["key", "stage"], how="anti")
    return ReceiptInputs(**frames, fingerprints=ran)


def _changes(store: Store, night: Night, shard: int) -> pl.DataFrame:
    """Changes of one shard; only receipts that are not those of the baseline are opened."""
    baseline = store.read("baselines", shard)
    heads = store.read("receipts", shard, columns=["document_key", "digest", "current"]).filter(pl.col("current"))
    same = ["document_key", "digest"]
    moved = [heads.join(baseline, on=same, how="anti"), baseline.join(heads, on=same, how="anti")]
    keys = pl.concat([one["document_key"] for one in moved]).unique().to_list()
    if not keys:
        return tables.empty("changes")
    receipts = loading.of_documents(store.read("receipts", shard), keys)
    before = receipts.join(baseline.select(same), on=same, how="semi")
    parts = loading.of_documents(baseline, keys).select("document_key", "components").iter_rows()
    old = {key: orjson.loads(components) for key, components in parts}
    new = read_fingerprints(store, NAME, shard)
    causes = {key: list(_moved(old.get(key, {}), new.get(key, {}))) for key in keys}
    now = receipts.filter(pl.col("current"))
    return changes.compare(before, now, causes, run_id=night.run_id, day=night.day, recheck=night.scope.recheck)


def _moved(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    return (name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


def _tally(store: Store, day: date, shard: int) -> pl.DataFrame:
    frames = {
        field.name: store.read(field.name, shard, columns=metrics.COUNTED[field.name])
        for field in fields(ReceiptInputs)
        if field.name in metrics.COUNTED
    }
    rest = {field.name: tables.empty(field.name) for field in fields(ReceiptInputs) if field.name not in frames}
    given = ReceiptInputs(**{**rest, **frames, "doi_statuses": loading.statuses_on(store, day)})
    receipts = store.read("receipts", shard, columns=["document_key", "state", "current"])
    return metrics.tally(given, receipts)
