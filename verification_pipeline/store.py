"""Where tables live, and how they are written: atomically, checked against the registry, in one order.

    OUT/store.json                        format and schema, number of shards, secret of the store
    OUT/tables/<table>/<shard>.parquet    tables partitioned by document shard
    OUT/tables/<table>.parquet            tables of the whole archive
    OUT/tables/texts/<shard>/<part>.parquet   append-only parts
    OUT/tables/fingerprints/<stage>/<shard>.parquet

A file appears whole or not at all: it is written beside its place, flushed to the disk and renamed. Nothing here
knows what a row means; which rows a stage keeps is decided in `shards`.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from verification_pipeline import migrations, swap
from verification_pipeline.errors import NoStore, StoreBusy, StoreError
from verification_pipeline.keys import hash_of
from verification_pipeline.tables import TABLES, check, empty, sort_keys

if TYPE_CHECKING:
    from verification_pipeline.bucket import Bucket  # its client is loaded only for stores that need it

MANIFEST = "store.json"
DEFAULT_SHARDS = 16
_RESTORE = "restore it from a backup, or start a new --out folder"
_TEXTS_PER_ROW_GROUP = 64  # a text is read with its group: few, so that one alone is cheap
_CACHED_ROW_GROUPS = 4


@dataclass(frozen=True, slots=True)
class Store:
    """An opened store: its folder and its fixed number of document shards."""

    root: Path
    shards: int
    secret: str
    bucket: Bucket | None = None
    """Where the files are kept if not in `root`, which then holds copies of them."""

    @classmethod
    def open(cls, out: Path | Bucket, *, create: bool = True, shards: int | None = None) -> Store:
        """Open the store in `out`, making it when `create`, with so many shards (None: as it has, or the default).

        One that an earlier version wrote is migrated, a reshard that was killed while it swapped is completed.
        StoreError: absent, unwritable, damaged, of a later version or with other shards. StoreBusy: cannot be migrated.
        """
        root, bucket = (out, None) if isinstance(out, Path) else (out.folder, out)
        if bucket is None:
            if root.exists() and not root.is_dir():
                raise StoreError(f"{root} is a file: name a folder, or an address such as s3://bucket/prefix")
            swap.complete(root)
        else:
            bucket.refresh()
        manifest = root / MANIFEST
        store = cls(root, shards or DEFAULT_SHARDS, "", bucket)
        if not store.fetch(manifest):
            if not create:
                raise NoStore(f"{store.name} holds no store (no {MANIFEST}): name what was given as --out to `run`")
            try:
                replace(store, secret=secrets.token_hex(32)).write_manifest()
            except OSError as error:
                raise StoreError(f"{store.name} cannot be written: {error.strerror or error}") from error
        try:
            body = json.loads(manifest.read_text("utf-8"))
            found = int(body["format"])
            if found > migrations.FORMAT:
                raise StoreError(
                    f"{store.name} was written in store format {found} by a later version; this one reads up to format "
                    f"{migrations.FORMAT}: install that version"
                )
            store = cls(root, int(body["shards"]), str(body["secret"]), bucket)
        except KeyError as error:
            raise StoreError(f"{manifest} is damaged (it has no {error}); {_RESTORE}") from error
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"{manifest} is damaged ({error}); {_RESTORE}") from error
        if shards is not None and shards != store.shards:
            raise StoreError(
                f"{store.name} has {store.shards} document shards and the configuration says {shards}: correct "
                f"storage.shards, or run `verification-pipeline reshard --out {store.name} --shards {shards}`"
            )
        if (found, body.get("schema")) != (migrations.FORMAT, migrations.schema()):
            with store.locked() as held:
                migrations.migrate(held, found)
                held.write_manifest()
        return store

    def write_manifest(self) -> None:
        """Write what tells a store: its format and schema, its shards, its secret."""
        body = {
            "format": migrations.FORMAT,
            "shards": self.shards,
            "secret": self.secret,
            "schema": migrations.schema(),
        }
        self.write_file(self.root / MANIFEST, json.dumps(body, indent=1).encode())

    @property
    def name(self) -> str:
        """What a person calls the store: its folder or address."""
        return str(self.root) if self.bucket is None else self.bucket.url

    @contextmanager
    def locked(self, run: str | None = None) -> Iterator[Store]:
        """Hold the store for one run; gives the store to write to. StoreBusy at once when another run holds it.

        A killed run frees it. With `run`, a run of several processes is named, which hold it together: on an object
        store alone, where the lease of its last process lasts until it runs out or is freed (`Bucket`).
        """
        if run is not None:
            with self._shared(run) as store:
                yield store
            return
        lock = FileLock(self.root / ".lock")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            holder = _read_or(self.root / ".holder", "unknown")
            raise StoreBusy(f"another run holds {self.root} ({holder}); wait for it to end") from None
        except OSError as error:
            raise StoreError(f"the output folder {self.root} cannot be written: {error.strerror}") from error
        try:
            with nullcontext((None, False)) if self.bucket is None else self.bucket.leased() as (bucket, _):
                write_bytes(self.root / ".holder", f"process {os.getpid()}".encode())
                self._clear()
                yield replace(self, bucket=bucket)
        finally:
            lock.release()

    @contextmanager
    def _shared(self, run: str) -> Iterator[Store]:
        if self.bucket is None:
            raise StoreError(
                f"{self.root} is a folder: only a store on an object store (s3://…) can be worked on by several "
                "processes of one run; run the night in one process, or name such an address"
            )
        with self.bucket.leased(run) as (bucket, joined):
            if not joined:
                self._clear()
            yield replace(self, bucket=bucket)

    def free(self, run: str) -> None:
        """End the hold of a run of several processes, of which none is left."""
        if self.bucket is not None:
            self.bucket.free(run)

    def _clear(self) -> None:
        """Remove what a killed run left in the folder."""
        for leftover in (*self.root.glob(".*.tmp"), *self.root.glob("tables/**/.*.tmp")):
            if leftover.is_file():
                leftover.unlink(missing_ok=True)
        swap.discard(self.root)

    def holder(self) -> str | None:
        """Who holds the store at this moment; None while nobody does."""
        if self.bucket is not None:
            return self.bucket.holder()
        path = self.root / ".lock"
        if not path.exists():
            return None
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return _read_or(self.root / ".holder", "unknown")
        lock.release()
        return None

    # ---- files: every path is one below `root`

    def exists(self, path: Path) -> bool:
        """Whether the store has this file."""
        return path.exists() if self.bucket is None else self.bucket.exists(path)

    def fetch(self, path: Path) -> bool:
        """Have the current version of a file in its place, to be read there; False when the store has none."""
        return path.exists() if self.bucket is None else self.bucket.fetch(path)

    def names(self, prefix: str) -> list[str]:
        """Names below `root` of the store's files that lie in a folder, sorted."""
        if self.bucket is not None:
            return self.bucket.names(f"{prefix}/")
        found = (self.root / prefix).rglob("*")
        return sorted(str(path.relative_to(self.root).as_posix()) for path in found if path.is_file())

    def write_file(self, path: Path, body: bytes) -> None:
        """Write a file whole or not at all, making its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_bytes(body)
        self._settle(temporary, path)

    def write_if_other(self, path: Path, body: bytes) -> None:
        """Write a file unless the store has it with just these bytes."""
        if not self.fetch(path) or path.read_bytes() != body:
            self.write_file(path, body)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink() if self.bucket is None else self.bucket.remove(path)

    def _settle(self, temporary: Path, path: Path) -> None:
        """Flush a finished temporary file to the disk, or put it, and give it its name."""
        if self.bucket is None:
            _settle(temporary, path)
        else:
            self.bucket.put(temporary, path)

    def tables_folder(self) -> Path:
        """The folder of the tables, with every file of theirs but the texts in its place."""
        for name in TABLES if self.bucket is not None else ():
            if name != "texts":
                self.files(name)
        return self.root / "tables"

    def path(self, name: str, shard: int | None = None, stage: str | None = None) -> Path:
        """The file of a table, or of its shard; without a shard, that of rows which belong to no document."""
        path = self._place(name, shard, stage)
        self.fetch(path)
        return path

    def _place(self, name: str, shard: int | None, stage: str | None) -> Path:
        if TABLES[name].partitioning == "archive":
            return self.root / "tables" / f"{name}.parquet"
        folder = self.root / "tables" / name
        if shard is None:
            return folder / "archive.parquet"
        return (folder / stage if stage else folder) / f"{shard:04d}.parquet"

    def read(
        self,
        name: str,
        shard: int | None = None,
        *,
        stage: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """A table (or one shard of it); empty when never written. StoreError names a file that is damaged."""
        path = self.path(name, shard, stage)
        if not path.exists():
            return empty(name).select(columns or pl.all())
        try:
            return pl.read_parquet(path, columns=list(columns) if columns else None, memory_map=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise StoreError(f"table {name}, file {path}: cannot be read ({error}); remove it and run again") from error

    def height(self, path: Path) -> int:
        """Rows of one of a table's files, by its footer. StoreError names a file that is damaged."""
        try:
            return int(pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError) as error:
            raise StoreError(f"file {path}: cannot be read ({error}); remove it and run again") from error

    def files(self, name: str) -> list[Path]:
        """The files a table has on disk, in shard order."""
        if TABLES[name].partitioning == "archive":
            path = self.path(name)
            return [path] if path.exists() else []
        return self._below(f"tables/{name}")

    def _below(self, prefix: str) -> list[Path]:
        """The Parquet files that lie in a folder, each fetched."""
        paths = [self.root / name for name in self.names(prefix)]
        return [path for path in paths if path.suffix == ".parquet" and path.name[0] != "." and self.fetch(path)]

    def read_all(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Every shard of a partitioned table, in shard order."""
        return pl.concat([self.read(name, shard, columns=columns) for shard in range(self.shards)])

    def write(self, name: str, data: pl.DataFrame, shard: int | None = None, *, stage: str | None = None) -> None:
        """Check, sort and write a table (or one shard). ContractError before anything is written."""
        self.replace(name, self._place(name, shard, stage), data)

    def replace(self, name: str, path: Path, data: pl.DataFrame) -> None:
        """Check, sort and write the rows of one of a table's files. ContractError before anything is written."""
        check(name, data, str(path.relative_to(self.root)))
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.stem}.tmp")
        with _told(path):
            data.sort(sort_keys(name), nulls_last=True).write_parquet(
                temporary, compression="zstd", compression_level=3, statistics=True
            )
            self._settle(temporary, path)

    # ---- texts: append-only, fetched by hash

    def text_hashes(self, shard: int) -> set[str]:
        """Hashes of the texts a shard holds."""
        return {
            value
            for part in self.text_parts(shard)
            for value in pq.read_table(part, columns=["text_sha256"]).column(0).to_pylist()
        }

    def append_texts(self, shard: int, texts: Iterable[tuple[str, str]]) -> int:
        """Store texts (hash, text) that the shard does not hold yet; returns how many were new. Streams."""
        return self._write_texts(shard, texts, self.text_hashes(shard))[0]

    def keep_texts(self, shard: int, kept: Collection[str]) -> None:
        """Let go of every text of a shard but the named ones. A kill leaves some twice, none missing."""
        old = self.text_parts(shard)
        _, part = self._write_texts(
            shard, ((sha, text) for sha, text in self.iterate_texts(shard) if sha in kept), set()
        )
        for path in old:
            if path != part:
                self.remove(path)

    def _write_texts(self, shard: int, texts: Iterable[tuple[str, str]], held: set[str]) -> tuple[int, Path | None]:
        """One new part with the texts that are not `held`, each once; how many, and the part."""
        folder = self.root / "tables" / "texts" / f"{shard:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / ".part.tmp"
        added = 0
        name = ""
        schema = pa.schema([("text_sha256", pa.string()), ("text", pa.large_string())])
        with (
            _told(folder),
            pq.ParquetWriter(
                temporary, schema, compression="zstd", compression_level=1, use_dictionary=False
            ) as writer,
        ):
            batch: list[tuple[str, str]] = []
            for sha, text in texts:
                if sha in held:
                    continue
                held.add(sha)
                batch.append((sha, text))
                added += 1
                if len(batch) == _TEXTS_PER_ROW_GROUP:
                    name = _flush_texts(writer, schema, batch, name)
            if batch:
                name = _flush_texts(writer, schema, batch, name)
        if not added:
            temporary.unlink()
            return 0, None
        part = folder / f"{name}.parquet"
        self._settle(temporary, part)
        return added, part

    def text_parts(self, shard: int) -> list[Path]:
        """The files that hold a shard's texts."""
        return self._below(f"tables/texts/{shard:04d}")

    def iterate_texts(self, shard: int) -> Iterator[tuple[str, str]]:
        """(hash, text) of every text of a shard, in stored order; memory stays flat. OSError, ArrowException."""
        for part in self.text_parts(shard):
            with pq.ParquetFile(part, memory_map=False) as file:
                for batch in file.iter_batches(batch_size=_TEXTS_PER_ROW_GROUP):
                    yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def texts(self, shard: int, wanted: Collection[str] | None = None) -> Texts:
        """Random access to the texts of one shard, or to the `wanted` ones of them."""
        return Texts(self.text_parts(shard), wanted)

    def text(self, sha: str) -> str | None:
        """One text by hash, from whichever shard; None when it is not stored."""
        for shard in range(self.shards):
            found = self.texts(shard).get(sha)
            if found is not None:
                return found
        return None


class Texts:
    """Texts of one shard by hash. Row groups are read when first needed and a few are kept, so that a reader who
    goes through documents in stored order reads each once and memory stays flat."""

    def __init__(self, parts: Sequence[Path], wanted: Collection[str] | None = None) -> None:
        self._files = [pq.ParquetFile(part, memory_map=False) for part in parts]
        self._places: dict[str, tuple[int, int, int]] = {}
        for number, file in enumerate(self._files):
            names = iter(file.read(columns=["text_sha256"]).column(0).to_pylist())
            for group in range(file.num_row_groups):
                for row in range(file.metadata.row_group(group).num_rows):
                    sha = next(names)
                    if wanted is None or sha in wanted:
                        self._places[sha] = (number, group, row)
        self._groups: OrderedDict[tuple[int, int], pa.ChunkedArray] = OrderedDict()

    def __contains__(self, sha: str) -> bool:
        return sha in self._places

    def place(self, sha: str) -> tuple[int, int, int]:
        """Where a text lies (part, row group, row); texts that are absent sort last."""
        return self._places.get(sha, (1 << 30, 0, 0))

    def get(self, sha: str) -> str | None:
        """The text, or None when this shard does not hold it."""
        place = self._places.get(sha)
        if place is None:
            return None
        number, group, row = place
        column = self._groups.get((number, group))
        if column is None:
            column = self._files[number].read_row_group(group, columns=["text"]).column(0)
            self._groups[number, group] = column
            if len(self._groups) > _CACHED_ROW_GROUPS:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end((number, group))
        return str(column[row].as_py())


def _flush_texts(writer: pq.ParquetWriter, schema: pa.Schema, batch: list[tuple[str, str]], name: str) -> str:
    shas = [sha for sha, _ in batch]
    writer.write_table(pa.table([shas, [text for _, text in batch]], schema=schema))
    batch.clear()
    return hash_of(name, *shas)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """A disk that is full or read-only is one clear StoreError, whichever library met it."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{path} cannot be written: {why}; what was stored before is sound, run again") from error


def write_bytes(path: Path, body: bytes) -> None:
    """Write a file of this machine's own whole or not at all, making its folder; others may be writing it too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    temporary.write_bytes(body)
    _settle(temporary, path)


def _settle(temporary: Path, path: Path) -> None:
    """Flush a finished temporary file to the disk and give it its name."""
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)


def _read_or(path: Path, default: str) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return default
