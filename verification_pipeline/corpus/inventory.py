"""Input files into the tables documents, sources, texts, problems and inputs. Reads each changed file once.

A single pass over the changed files scatters their raw entries by shard into staging files; workers then parse
each shard's entries. Files whose size, time and reader are as before are not opened, their rows are kept. The
table `inputs` is written last: a killed inventory is simply taken again. Of a changed file of rows, rows that stand
there as before are not parsed again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from verification_pipeline import keys, tables
from verification_pipeline.config import Settings
from verification_pipeline.corpus import bodies
from verification_pipeline.corpus.archive import Archive, owner_of, parse
from verification_pipeline.corpus.entries import Parsed, Problem
from verification_pipeline.corpus.files import InputFile, RawEntry, rows
from verification_pipeline.corpus.folder import DOCUMENT
from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of
from verification_pipeline.shards import Scope, Workers, engine
from verification_pipeline.store import Store
from verification_pipeline.text.addresses import canonical_url

_STAGED = pa.schema(
    [
        ("corpus", pa.string()),
        ("format", pa.string()),
        ("kind", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("path", pa.binary()),
        ("payload", pa.large_binary()),
        ("start", pa.int64()),
        ("length", pa.int64()),
    ]
)
_BUFFER_BYTES = 4_000_000
_BUFFER_ENTRIES = 20_000
_LANGUAGE_CHARS = 3_000
_CHINESE = ("wuu", "yue", "nan", "hak")
"""Chinese languages that the detector tells apart but that are written, split and counted alike."""
_DUPLICATE = "duplicate id"
_ORPHAN = "its document"


@dataclass(frozen=True, slots=True)
class InventoryReport:
    """What an inventory found: input files by fate, and the problems of the corpora in scope."""

    files: int
    read: int
    removed: int
    problems: int


@dataclass(frozen=True, slots=True)
class _DocumentRow:
    document_key: str
    corpus: str
    document_id: str
    title: str | None
    date: date | None
    url: str | None
    language: str | None
    status: str
    reason: str | None
    text_sha256: str | None
    n_chars: int
    file: str
    line: int | None
    entry_hash: str | None


@dataclass(frozen=True, slots=True)
class _SourceRow:
    source_key: str
    corpus: str
    document_key: str | None
    document_id: str | None
    source_id: str
    n: int | None
    url: str | None
    canonical_url: str | None
    title: str | None
    aliases: tuple[str, ...] | None
    doi: str | None
    pmid: str | None
    publisher: str | None
    comment: str | None
    published_at: str | None
    fetched_at: str | None
    status: str
    reason: str | None
    text_sha256: str | None
    n_chars: int
    metadata_hash: str
    file: str
    line: int | None
    entry_hash: str | None


def take_inventory(store: Store, archives: Sequence[Archive], scope: Scope, pool: Workers) -> InventoryReport:
    """Bring documents, sources, texts and problems of the named archives up to date with the disk.

    UsageError: an archive that had documents holds none, or a document that the run is for does not exist.
    """
    stored = store.read("inputs")
    problems = store.read("problems")
    names = [archive.name for archive in archives]
    changed: list[tuple[Archive, InputFile]] = []
    compared: set[tuple[str, str]] = set()
    current: list[tuple[str, str, int, int, str]] = []
    peopled: set[str] = set()
    for archive in archives:
        reader = hash_of(
            engine("corpus", "text/addresses"), scope.settings[archive.name].fingerprint("limits", "corpus")
        )
        known = {row[1]: row[2:] for row in stored.filter(pl.col("corpus") == archive.name).iter_rows()}
        files = list(archive.files())
        moved = [file for file in files if known.get(file.relative) != (file.size, file.modified_ns, reader)]
        gone = known.keys() - {file.relative for file in files}
        if (moved or gone) and _has_duplicates(problems, archive.name):
            moved = files  # which of two entries wins must not depend on the night they arrived
        else:
            same_reader = (file for file in moved if known.get(file.relative, ("",))[-1] == reader)
            compared |= {(archive.name, file.relative) for file in same_reader}
        read_again = {file.relative for file in moved}
        if any(_of_documents(file.kind, archive.format) for file in files if file.relative not in read_again):
            peopled.add(archive.name)
        changed += [(archive, file) for file in moved]
        current += [(archive.name, file.relative, file.size, file.modified_ns, reader) for file in files]
    others = stored.filter(~pl.col("corpus").is_in(names))
    fresh = pl.DataFrame(current, schema=tables.TABLES["inputs"].schema, orient="row")
    removed = stored.filter(pl.col("corpus").is_in(names)).join(fresh, on=["corpus", "file"], how="anti").height
    in_scope = problems.filter(pl.col("corpus").is_in(names))
    if not changed and not removed:
        _refuse_unknown(store, scope)
        return InventoryReport(len(current), 0, 0, in_scope.height)

    reread = {(archive.name, file.relative) for archive, file in changed}
    kept = frozenset((row[0], row[1]) for row in current if (row[0], row[1]) not in reread)
    staging = store.root / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    found = _scatter(changed, scope, store.shards, staging, peopled)
    try:
        _refuse_emptied(store, scope, set(names) - peopled)
    except UsageError:
        shutil.rmtree(staging)
        raise
    plan = _Plan(frozenset(names), kept, frozenset(compared))
    for shard_problems in pool.map(partial(_settle, store, scope, plan), range(store.shards)):
        found += shard_problems
    shutil.rmtree(staging)
    keep = [
        corpus not in names or ((corpus, file) in kept and not reason.startswith(_ORPHAN))
        for corpus, file, reason in problems.select("corpus", "file", "reason").iter_rows()
    ]
    table = pl.concat([problems.filter(pl.Series(keep, dtype=pl.Boolean)), tables.frame("problems", found)])
    store.write("problems", table.unique())
    store.write("inputs", pl.concat([others, fresh]))
    count = table.filter(pl.col("corpus").is_in(names)).height
    _refuse_unknown(store, scope)
    return InventoryReport(len(current), len(changed), removed, count)


def _has_duplicates(problems: pl.DataFrame, corpus: str) -> bool:
    mine = problems.filter((pl.col("corpus") == corpus) & pl.col("reason").str.starts_with(_DUPLICATE))
    return mine.height > 0


def _of_documents(kind: str, corpus_format: str) -> bool:
    """Whether a file, or an entry of it, is or holds documents."""
    return kind == DOCUMENT or corpus_format == "bundle"


def _refuse_emptied(store: Store, scope: Scope, corpora: Collection[str]) -> None:
    """UsageError: one of the corpora holds no document and had some. Perhaps a mount is empty, or a file cut."""
    refused = [name for name in sorted(corpora) if scope.settings[name].storage.emptied == "refuse"]
    if not refused:
        return
    held = store.read_all("documents", ["corpus"]).filter(pl.col("corpus").is_in(refused))
    for name, count in held.group_by("corpus").len().sort("corpus").iter_rows():
        raise UsageError(
            f"corpus {name!r} holds no document that can be read, and had {count}: is it mounted, its file whole? "
            'Nothing was changed; if they are to be removed, set emptied = "remove" under [storage] in --config'
        )


def _refuse_unknown(store: Store, scope: Scope) -> None:
    """UsageError: a document that the run is for is in none of its corpora."""
    if not scope.documents:
        return
    there = store.read_all("documents", ["corpus", "document_id"]).filter(pl.col("corpus").is_in(list(scope.settings)))
    unknown = sorted(scope.documents.difference(there["document_id"]))
    if unknown:
        named, where = ", ".join(map(repr, unknown)), ", ".join(sorted(scope.settings))
        raise UsageError(f"no document {named} in {where}: an id is the path below documents/ without suffix, or `id`")


# ---- scatter: one pass over the changed files, entries to staging files by shard


def _scatter(
    changed: Iterable[tuple[Archive, InputFile]], scope: Scope, shards: int, staging: Path, peopled: set[str]
) -> list[Problem]:
    """Adds to `peopled` the corpora in which an entry of a document was found."""
    problems: list[Problem] = []
    buffers = [_StagingFile(staging / f"{shard:04d}.parquet") for shard in range(shards)]
    for archive, file in changed:
        for entry in _raw_entries(archive, file, scope.settings[archive.name].limits.file_bytes, problems):
            buffers[keys.shard_of(owner_of(entry), shards)].add(entry)
            if _of_documents(entry.kind, entry.format):
                peopled.add(archive.name)
    for buffer in buffers:
        buffer.close()
    return problems


def _raw_entries(archive: Archive, file: InputFile, limit: int, problems: list[Problem]) -> Iterator[RawEntry]:
    corpus, relative, path = archive.name, file.relative, str(file.path)
    if file.kind != "rows":
        yield RawEntry(corpus, archive.format, file.kind, relative, None, path, None)
        return
    try:
        for row in rows(file.path, limit):
            if row.payload is None:
                reason = f"line over the limit of {limit} bytes; it was left out"
                problems.append(Problem(corpus, relative, row.number, None, "file", reason))
            elif not row.payload.isspace():
                place = (row.number, path, row.payload, row.start, row.length)
                yield RawEntry(corpus, archive.format, file.kind, relative, *place)
    except (OSError, pa.ArrowException) as error:
        problems.append(Problem(corpus, relative, None, None, "file", f"cannot be read: {error}"))


class _StagingFile:
    """Raw entries of one shard, buffered to row groups of a few megabytes. Of a line its place stands for it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None
        self._entries: list[RawEntry] = []
        self._bytes = 0

    def add(self, entry: RawEntry) -> None:
        if entry.start is not None:
            entry = replace(entry, payload=None)
        self._entries.append(entry)
        self._bytes += len(entry.payload or b"")
        if self._bytes > _BUFFER_BYTES or len(self._entries) > _BUFFER_ENTRIES:
            self._flush()

    def _flush(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, _STAGED, compression="lz4", use_dictionary=False)
        columns = {name: [getattr(entry, name) for entry in self._entries] for name in _STAGED.names}
        columns["path"] = list(map(os.fsencode, columns["path"]))
        self._writer.write_table(pa.table(columns, schema=_STAGED))
        self._entries, self._bytes = [], 0

    def close(self) -> None:
        if self._entries:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def _staged(path: Path) -> Iterator[RawEntry]:
    """The raw entries of one shard; a file that was cut since has empty ones at its end."""
    if not path.exists():
        return
    with pq.ParquetFile(path) as file, ExitStack() as stack:
        opened: dict[str, BinaryIO] = {}
        for batch in file.iter_batches(batch_size=512):
            columns = {name: batch.column(name).to_pylist() for name in _STAGED.names}
            columns["path"] = list(map(os.fsdecode, columns["path"]))
            for row in zip(*columns.values(), strict=True):
                entry = RawEntry(*row)
                if entry.start is not None:
                    if entry.path not in opened:
                        opened[entry.path] = stack.enter_context(Path(entry.path).open("rb"))
                    opened[entry.path].seek(entry.start)
                    entry = replace(entry, payload=opened[entry.path].read(entry.length))
                yield entry


# ---- settle: parse one shard's entries and write its tables


@dataclass(frozen=True, slots=True)
class _Plan:
    """What becomes of the rows that are stored: by corpus and file."""

    names: frozenset[str]
    """Corpora that are read."""
    kept: frozenset[tuple[str, str]]
    """Files that did not change: all their rows stay."""
    compared: frozenset[tuple[str, str]]
    """Files that changed and are read as before: a row stays where its entry is still there, word for word."""


def _settle(store: Store, scope: Scope, plan: _Plan, shard: int) -> list[Problem]:
    documents: list[_DocumentRow] = []
    sources: list[_SourceRow] = []
    problems: list[Problem] = []
    stored = {name: store.read(name, shard) for name in ("documents", "sources")}
    known = {key for table in stored.values() for key in _entries_of(table, plan.compared)}
    still: dict[_Entry, int | None] = {}
    entries = _unknown(_staged(store.root / "staging" / f"{shard:04d}.parquet"), known, still)
    store.append_texts(shard, _texts_of(entries, scope.settings, documents, sources, problems))
    all_documents = pl.concat([_kept(stored["documents"], plan, still), tables.frame("documents", documents)])
    all_sources = pl.concat([_kept(stored["sources"], plan, still), tables.frame("sources", sources)])
    settled_documents = _first_of(all_documents, "document", problems)
    settled_sources = _first_of(all_sources, "source", problems)
    problems += _orphans(settled_sources, settled_documents, plan.names)
    store.write("documents", settled_documents, shard)
    store.write("sources", settled_sources, shard)
    return problems


_Entry = tuple[str, str, str]
"""Corpus, file and hash of a row that was read."""


def _entries_of(table: pl.DataFrame, files: Collection[tuple[str, str]]) -> Iterator[_Entry]:
    for corpus, file, entry in table.select("corpus", "file", "entry_hash").drop_nulls().iter_rows():
        if (corpus, file) in files:
            yield corpus, file, entry


def _unknown(
    entries: Iterable[RawEntry], known: Collection[_Entry], still: dict[_Entry, int | None]
) -> Iterator[tuple[RawEntry, str | None]]:
    """The entries to parse, with their hash; `still` gets the line of every other. Of equal rows the first is known."""
    for raw in entries:
        hashed = None if raw.payload is None else keys.hash_of_bytes(raw.payload)
        entry = (raw.corpus, raw.file, hashed or "")
        if entry in known and entry not in still:
            still[entry] = raw.line
        else:
            yield raw, hashed


def _kept(table: pl.DataFrame, plan: _Plan, still: Mapping[_Entry, int | None]) -> pl.DataFrame:
    """The rows that stay, those of rows that moved within their file with their new line."""
    stays, lines = [], []
    for corpus, file, entry, line in table.select("corpus", "file", "entry_hash", "line").iter_rows():
        moved = (corpus, file, entry) in still
        stays.append(corpus not in plan.names or (corpus, file) in plan.kept or moved)
        lines.append(still[corpus, file, entry] if moved else line)
    table = table.with_columns(line=pl.Series(lines, dtype=pl.Int64))
    return table.filter(pl.Series(stays, dtype=pl.Boolean))


def _first_of(table: pl.DataFrame, what: str, problems: list[Problem]) -> pl.DataFrame:
    """One row a key: the first by file and line; the others become problems."""
    ordered = table.sort("corpus", "file", "line", maintain_order=True)
    repeated = ordered.filter(~pl.col(f"{what}_key").is_first_distinct())
    for row in repeated.iter_rows(named=True):
        reason = f"{_DUPLICATE}: an earlier entry of the corpus has it; this one was left out"
        problems.append(Problem(row["corpus"], row["file"], row["line"], row[f"{what}_id"], what, reason))
    return ordered.unique(f"{what}_key", keep="first", maintain_order=True)


def _orphans(sources: pl.DataFrame, documents: pl.DataFrame, names: frozenset[str]) -> list[Problem]:
    orphans = sources.filter(pl.col("document_key").is_not_null() & pl.col("corpus").is_in(list(names))).join(
        documents, on="document_key", how="anti"
    )
    return [
        Problem(
            row["corpus"],
            row["file"],
            row["line"],
            row["source_id"],
            "source",
            f"{_ORPHAN} {row['document_id']!r} is not in the corpus; no document rests on it",
        )
        for row in orphans.iter_rows(named=True)
    ]


def _texts_of(
    entries: Iterable[tuple[RawEntry, str | None]],
    settings: Mapping[str, Settings],
    documents: list[_DocumentRow],
    sources: list[_SourceRow],
    problems: list[Problem],
) -> Iterator[tuple[str, str]]:
    """Parse entries, collecting their rows; yields the texts, so that they are stored as they stream by."""
    for raw, hashed in entries:
        parsed = parse(raw, settings[raw.corpus])
        problems += parsed.problems
        entry_hash = None if parsed.problems else hashed  # what has problems is read, and told, again
        yield from _document_texts(raw, parsed, documents, entry_hash)
        yield from _source_texts(raw, parsed, sources, entry_hash)


def _document_texts(
    raw: RawEntry, parsed: Parsed, rows: list[_DocumentRow], entry_hash: str | None
) -> Iterator[tuple[str, str]]:
    for entry in parsed.documents:
        sha = None if entry.text is None else keys.text_sha256(entry.text)
        rows.append(
            _DocumentRow(
                document_key=keys.document_key(raw.corpus, entry.document_id),
                corpus=raw.corpus,
                document_id=entry.document_id,
                title=entry.title,
                date=entry.date,
                url=entry.url,
                language=_language(entry.text) if entry.status == "ok" and entry.text else None,
                status=entry.status,
                reason=entry.reason,
                text_sha256=sha,
                n_chars=len(entry.text or ""),
                file=raw.file,
                line=raw.line,
                entry_hash=entry_hash,
            )
        )
        if sha is not None and entry.text is not None:
            yield sha, entry.text


def _source_texts(
    raw: RawEntry, parsed: Parsed, rows: list[_SourceRow], entry_hash: str | None
) -> Iterator[tuple[str, str]]:
    for entry in parsed.sources:
        sha = None if entry.text is None else keys.text_sha256(entry.text)
        owner = entry.document_id
        rows.append(
            _SourceRow(
                source_key=keys.source_key(raw.corpus, owner, entry.source_id),
                corpus=raw.corpus,
                document_key=None if owner is None else keys.document_key(raw.corpus, owner),
                document_id=owner,
                source_id=entry.source_id,
                n=entry.n,
                url=entry.url,
                canonical_url=None if entry.url is None else canonical_url(entry.url),
                title=entry.title,
                aliases=entry.aliases or None,
                doi=entry.doi,
                pmid=entry.pmid,
                publisher=entry.publisher,
                comment=entry.comment,
                published_at=entry.published_at,
                fetched_at=entry.fetched_at,
                status=entry.status,
                reason=entry.reason,
                text_sha256=sha,
                n_chars=len(entry.text or ""),
                metadata_hash=hash_of(repr(replace(entry, text=None))),
                file=raw.file,
                line=raw.line,
                entry_hash=entry_hash,
            )
        )
        if sha is not None and entry.text is not None:
            yield sha, entry.text


def _language(text: str) -> str | None:
    """ISO 639-1 code of a document's body, from its beginning."""
    import py3langid

    start = bodies.front_matter(text)[1]
    code, _ = py3langid.classify(text[start : start + _LANGUAGE_CHARS])
    return "zh" if code in _CHINESE else str(code)
