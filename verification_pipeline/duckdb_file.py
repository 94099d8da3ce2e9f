"""The DuckDB file that analysts open: every registered table but texts and phrases, the views and questions of `sql/`.

A view of `sql/views` is a view, a question of `sql/analyses` a table function: `FROM statuses_on_day('2026-03-04')`.

Built beside its place and renamed over it, so that a reader sees the old file or the new one, whole; a connection that
is open on the old one keeps reading it. The new file starts as a copy of the old one: only Parquet files that changed
are read again, in place of the rows of their shard. Types are stated, never guessed: ids that look like dates stay
text. Receipts come without their JSON, which lies in Parquet and in files, and sketches without their hashes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from polars.datatypes import DataTypeClass

from verification_pipeline import queries
from verification_pipeline.config import DuckDBFile
from verification_pipeline.errors import StoreError
from verification_pipeline.keys import hash_of
from verification_pipeline.tables import TABLES, Table

_NOT_COPIED = frozenset({"texts", "phrases"})
_LEFT_OUT = {"receipts": ("receipt",), "sketches": ("hashes",)}

_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "VARCHAR",
    pl.Int64: "BIGINT",
    pl.UInt64: "UBIGINT",
    pl.UInt32: "UINTEGER",
    pl.Int32: "INTEGER",
    pl.Float64: "DOUBLE",
    pl.Boolean: "BOOLEAN",
    pl.Binary: "BLOB",
    pl.Date: "DATE",
    pl.Datetime: "TIMESTAMP WITH TIME ZONE",
}

_BOOKKEEPING = """
CREATE SCHEMA build;
CREATE TABLE build.made (shape VARCHAR, modified_ns BIGINT);
CREATE TABLE build.files (table_name VARCHAR, file VARCHAR, state VARCHAR);
COMMENT ON TABLE build.made IS 'What this file was made by, and when: a file touched since is made anew.';
COMMENT ON TABLE build.files IS 'Parquet files each table was read from: a table is read again when they change.';
"""

Connection = duckdb.DuckDBPyConnection


def build(
    store_tables: Path, target: Path, settings: DuckDBFile | None = None, shards: int | None = None
) -> dict[str, int]:
    """Bring `target` up to the Parquet files under `store_tables`, of so many document shards; rows by table.

    A table without files is there, empty. StoreError names the table whose files cannot be read, or why the file
    cannot be written; `target` is then untouched.
    """
    settings = settings or DuckDBFile()
    limits: dict[str, Any] = {"memory_limit": settings.memory_limit, "threads": settings.threads}
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            rows = _built(store_tables, target, temporary, limits, shards)
            _settle(temporary, target, limits)
        finally:
            _remove(temporary)
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"{target} cannot be built: {error}; the tables are sound, run again") from error
    return rows


def _built(
    store_tables: Path, target: Path, temporary: Path, limits: dict[str, Any], shards: int | None
) -> dict[str, int]:
    _remove(temporary)
    if not _reused(target, temporary, limits):
        _remove(temporary)
        with duckdb.connect(str(temporary), config=limits) as connection:
            _create(connection)
    with duckdb.connect(str(temporary), config=limits) as connection:
        _refresh(connection, store_tables, shards)
        return {table.name: _count(connection, table) for table in _copied()}


def columns_of(table: Table) -> Iterator[tuple[str, str, str]]:
    """Name, SQL type and description of each column that the file holds."""
    for column in table.columns:
        if column.name not in _LEFT_OUT.get(table.name, ()):
            yield column.name, _sql_type(column.dtype), column.doc


def files_of(store_tables: Path, table: str) -> list[Path]:
    """Every Parquet file of a table, in one order: the whole-archive file first, then the shards'."""
    whole = store_tables / f"{table}.parquet"
    shards = sorted((store_tables / table).rglob("*.parquet")) if (store_tables / table).is_dir() else []
    return [*([whole] if whole.is_file() else []), *shards]


def quoted(identifier: str) -> str:
    """An identifier as SQL writes it, whatever it holds."""
    return '"' + identifier.replace('"', '""') + '"'


# --- a file to start from ---------------------------------------------------------------------------------------


def _reused(target: Path, temporary: Path, limits: dict[str, Any]) -> bool:
    """Copy the last file to start from, if it is as it was built and has today's tables and views."""
    if not target.is_file() or target.with_name(f"{target.name}.wal").exists():
        return False
    modified = target.stat().st_mtime_ns
    try:
        shutil.copyfile(target, temporary)
        with duckdb.connect(str(temporary), config=limits) as connection:
            return connection.execute("SELECT shape, modified_ns FROM build.made").fetchone() == (_shape(), modified)
    except duckdb.Error:
        return False


def _shape() -> str:
    """Hash of everything but rows that goes into the file: tables, columns, words, statements, version of DuckDB."""
    tables = (f"{table.name}:{table.grain}:{table.key}:{list(columns_of(table))}" for table in _copied())
    asked = (f"{query.name}:{query.sql}" for query in (*queries.views(), *queries.analyses()))
    return hash_of(duckdb.__version__, _BOOKKEEPING, *tables, *asked)


def _create(connection: Connection) -> None:
    connection.begin()
    connection.execute(_BOOKKEEPING)
    connection.execute("INSERT INTO build.made VALUES ($shape, 0)", {"shape": _shape()})
    for table in _copied():
        _create_table(connection, table)
    for query in _in_order(queries.views()):
        name = quoted(query.name.removeprefix("views/"))
        connection.execute(f"CREATE VIEW {name} AS {query.sql}")
        connection.execute(f"COMMENT ON VIEW {name} IS {_literal(f'{query.says} One row: {query.grain}.')}")
        for column, doc in query.columns.items():
            connection.execute(f"COMMENT ON COLUMN {name}.{quoted(column)} IS {_literal(doc)}")
    for query in queries.analyses():
        _create_function(connection, query)
    connection.commit()


def _create_table(connection: Connection, table: Table) -> None:
    name = quoted(table.name)
    columns = list(columns_of(table))
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'{quoted(c)} {kind}' for c, kind, _ in columns)})")
    key = f" Key: {', '.join(table.key)}." if table.key else ""
    connection.execute(f"COMMENT ON TABLE {name} IS {_literal(f'One row: {table.grain}.{key}')}")
    for column, _, doc in columns:
        connection.execute(f"COMMENT ON COLUMN {name}.{quoted(column)} IS {_literal(doc)}")


def _create_function(connection: Connection, query: queries.Query) -> None:
    """A question as a table function. Its parameters get names that no column has: they would hide it."""
    name = quoted(query.name.removeprefix("analyses/"))
    parameters = ", ".join(f"asked_{parameter}" for parameter in query.parameters)
    body = re.sub(r"\$(\w+)", r"asked_\1", query.sql)
    connection.execute(f"CREATE MACRO {name}({parameters}) AS TABLE {body}")
    connection.execute(f"COMMENT ON MACRO TABLE {name} IS {_literal(f'{query.says} One row: {query.grain}.')}")


def _in_order(views: tuple[queries.Query, ...]) -> list[queries.Query]:
    """Views after the views they read; names are looked for as words."""
    waiting = {query.name.removeprefix("views/"): query for query in views}
    ordered: list[queries.Query] = []
    while waiting:
        free = [name for name, query in waiting.items() if not (_words(query.sql) & waiting.keys() - {name})]
        if not free:
            raise StoreError(f"views that read each other: {', '.join(waiting)}")
        ordered += [waiting.pop(name) for name in free]
    return ordered


def _words(sql: str) -> set[str]:
    code = " ".join(line.split("--")[0] for line in sql.splitlines())
    return set("".join(c if c.isalnum() or c == "_" else " " for c in code).split())


# --- rows -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Renewal:
    """What of a table is read again: `files`, in place of the rows that `where` names."""

    table: Table
    where: str
    files: list[Path]


def _refresh(connection: Connection, store_tables: Path, shards: int | None) -> None:
    """Read the files again that changed. Their rows are removed first and together, so that space is reused."""
    known: dict[str, dict[str, str]] = {}
    for name, file, state in connection.execute("SELECT table_name, file, state FROM build.files").fetchall():
        known.setdefault(name, {})[file] = state
    states = {
        table.name: {str(file): _state(file) for file in files_of(store_tables, table.name)} for table in _copied()
    }
    renewals = [
        renewal
        for table in _copied()
        for renewal in _renewals(table, known.get(table.name, {}), states[table.name], shards)
    ]
    for renewal in renewals:
        connection.execute(f"DELETE FROM {quoted(renewal.table.name)} WHERE {renewal.where}")  # noqa: S608
        connection.execute("DELETE FROM build.files WHERE table_name = $name", {"name": renewal.table.name})
    connection.execute("CHECKPOINT")
    for renewal in renewals:
        _fill(connection, renewal.table, renewal.files)
    for name in {renewal.table.name for renewal in renewals}:
        rows = [(name, file, state) for file, state in states[name].items()]
        if rows:
            connection.executemany("INSERT INTO build.files VALUES (?, ?, ?)", rows)
    connection.execute("CHECKPOINT")


def _renewals(table: Table, known: dict[str, str], states: dict[str, str], shards: int | None) -> Iterator[_Renewal]:
    """The files of a table that changed, each in place of its own rows where those can be told and are few."""
    changed = [file for file in known.keys() | states.keys() if known.get(file) != states.get(file)]
    if not changed:
        return
    if shards is None or "document_key" not in table.schema or 2 * len(changed) > len(states):
        yield _Renewal(table, "true", [Path(file) for file in states])
        return
    for file in sorted(changed):
        where = _rows_of(table, Path(file).stem, shards)
        yield _Renewal(table, where, [Path(file)] if file in states else [])


def _rows_of(table: Table, shard: str, shards: int) -> str:
    """The rows of one shard's file, by the rule that puts them there (`keys.shard_of`)."""
    if not shard.isdecimal():
        return "document_key IS NULL"
    owner = "coalesce(document_key, source_key)" if table.name == "sources" else "document_key"
    return f"('0x' || substr({owner}, 1, 8))::UBIGINT % {shards} = {int(shard)}"


def _state(file: Path) -> str:
    """What tells one version of a file from another: files are only ever replaced whole, by renaming."""
    stat = file.stat()
    return f"{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ino}"


def _fill(connection: Connection, table: Table, files: list[Path]) -> None:
    if not files:
        return
    left_out = ", ".join(quoted(column) for column in _LEFT_OUT.get(table.name, ()))
    chosen = f"* EXCLUDE ({left_out})" if left_out else "*"
    try:
        connection.execute(
            f"INSERT INTO {quoted(table.name)} BY NAME SELECT {chosen} "  # noqa: S608 - quoted names of the registry
            "FROM read_parquet($files, union_by_name = true, hive_partitioning = false)",
            {"files": [str(file) for file in files]},
        )
    except (duckdb.TransactionException, duckdb.FatalException, duckdb.OutOfMemoryException):
        raise  # the files were read: it is the DuckDB file that cannot be written
    except duckdb.Error as error:
        raise StoreError(f"table {table.name}: its files under {files[0].parent} cannot be read ({error})") from error


def _count(connection: Connection, table: Table) -> int:
    row = connection.execute(f"SELECT count(*) FROM {quoted(table.name)}").fetchone()  # noqa: S608
    return int(row[0]) if row else 0


def _copied() -> Iterator[Table]:
    return (table for table in TABLES.values() if table.name not in _NOT_COPIED)


def _sql_type(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List):
        return f"{_sql_type(_instance(dtype.inner))}[]"
    if isinstance(dtype, pl.Struct):
        fields = ", ".join(f"{quoted(field.name)} {_sql_type(_instance(field.dtype))}" for field in dtype.fields)
        return f"STRUCT({fields})"
    return _TYPES[type(dtype)]


def _instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def _literal(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


# --- swapping in ------------------------------------------------------------------------------------------------


def _settle(temporary: Path, target: Path, limits: dict[str, Any]) -> None:
    """Flush the finished file and give it its name. It knows its own moment, so that a later touch is seen."""
    modified = temporary.stat().st_mtime_ns
    with duckdb.connect(str(temporary), config=limits) as connection:
        connection.execute("UPDATE build.made SET modified_ns = $modified", {"modified": modified})
        connection.execute("CHECKPOINT")
    os.utime(temporary, ns=(modified, modified))
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(target)


def _remove(temporary: Path) -> None:
    for leftover in (temporary, temporary.with_name(f"{temporary.name}.wal")):
        leftover.unlink(missing_ok=True)
    shutil.rmtree(temporary.with_name(f"{temporary.name}.tmp"), ignore_errors=True)  # what DuckDB spilled
