"""The DuckDB file that analysts open: every registered table but the texts, and the views of `sql/views`.

Built beside its place and renamed over it, so that a reader sees the old file or the new one, whole; a connection that
is open on the old one keeps reading it. Types are stated, never guessed: ids that look like dates stay text.
Receipts come without their JSON, which lies in Parquet and in files, and sketches without their hashes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from polars.datatypes import DataTypeClass

from verification_pipeline import queries
from verification_pipeline.config import DuckDBFile
from verification_pipeline.errors import StoreError
from verification_pipeline.tables import TABLES, Table

_NOT_COPIED = frozenset({"texts"})
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


def build(store_tables: Path, target: Path, settings: DuckDBFile | None = None) -> dict[str, int]:
    """Build `target` from the Parquet files under `store_tables`; rows by table.

    A table without files is there, empty. StoreError names the table whose files cannot be read; `target` is then
    untouched.
    """
    settings = settings or DuckDBFile()
    temporary = target.with_name(f".{target.name}.tmp")
    _remove(temporary)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        limits: dict[str, Any] = {"memory_limit": settings.memory_limit, "threads": settings.threads}
        with duckdb.connect(str(temporary), config=limits) as connection:
            rows = {table.name: _fill(connection, table, store_tables) for table in _copied()}
            for query in _in_order(queries.views()):
                _view(connection, query)
            connection.execute("CHECKPOINT")
        _settle(temporary, target)
    finally:
        _remove(temporary)
    return rows


def columns_of(table: Table) -> Iterator[tuple[str, str, str]]:
    """Name, SQL type and description of each column that the file holds."""
    for column in table.columns:
        if column.name not in _LEFT_OUT.get(table.name, ()):
            yield column.name, _sql_type(column.dtype), column.doc


def _copied() -> Iterator[Table]:
    return (table for table in TABLES.values() if table.name not in _NOT_COPIED)


def _fill(connection: duckdb.DuckDBPyConnection, table: Table, store_tables: Path) -> int:
    name = quoted(table.name)
    columns = list(columns_of(table))
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'{quoted(c)} {kind}' for c, kind, _ in columns)})")
    key = f" Key: {', '.join(table.key)}." if table.key else ""
    connection.execute(f"COMMENT ON TABLE {name} IS {_literal(f'One row: {table.grain}.{key}')}")
    for column, _, doc in columns:
        connection.execute(f"COMMENT ON COLUMN {name}.{quoted(column)} IS {_literal(doc)}")
    files = files_of(store_tables, table.name)
    if not files:
        return 0
    left_out = ", ".join(quoted(column) for column in _LEFT_OUT.get(table.name, ()))
    chosen = f"* EXCLUDE ({left_out})" if left_out else "*"
    source = "read_parquet($files, union_by_name = true, hive_partitioning = false)"
    try:
        done = connection.execute(
            f"INSERT INTO {name} BY NAME SELECT {chosen} FROM {source}",  # noqa: S608 - quoted registry names
            {"files": [str(file) for file in files]},
        ).fetchone()
    except duckdb.Error as error:
        raise StoreError(f"table {table.name}: its files under {store_tables} cannot be read ({error})") from error
    return int(done[0]) if done else 0


def files_of(store_tables: Path, table: str) -> list[Path]:
    """Every Parquet file of a table, in one order: the whole-archive file first, then the shards'."""
    whole = store_tables / f"{table}.parquet"
    shards = sorted((store_tables / table).rglob("*.parquet")) if (store_tables / table).is_dir() else []
    return [*([whole] if whole.is_file() else []), *shards]


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


def _view(connection: duckdb.DuckDBPyConnection, query: queries.Query) -> None:
    name = quoted(query.name.removeprefix("views/"))
    connection.execute(f"CREATE VIEW {name} AS {query.sql}")
    connection.execute(f"COMMENT ON VIEW {name} IS {_literal(f'{query.says} One row: {query.grain}.')}")


def _sql_type(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List):
        return f"{_sql_type(_instance(dtype.inner))}[]"
    if isinstance(dtype, pl.Struct):
        fields = ", ".join(f"{quoted(field.name)} {_sql_type(_instance(field.dtype))}" for field in dtype.fields)
        return f"STRUCT({fields})"
    return _TYPES[type(dtype)]


def _instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def quoted(identifier: str) -> str:
    """An identifier as SQL writes it, whatever it holds."""
    return '"' + identifier.replace('"', '""') + '"'


def _literal(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def _settle(temporary: Path, target: Path) -> None:
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(target)


def _remove(temporary: Path) -> None:
    for leftover in (temporary, temporary.with_name(f"{temporary.name}.wal")):
        leftover.unlink(missing_ok=True)
