"""What is done to a store that an earlier version wrote, so that this one can go on with it.

`FORMAT` is the number in store.json. A change that is more than a new table or a new column that may be null raises
it and brings a step; `STEPS[n]` leads from format n to n + 1. New tables and columns need none: store.json also holds
the hash of the registry's schemas, and files from before are filled up with nulls whenever it has moved. A step may be
killed and begun again: the number is written last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import polars as pl

from verification_pipeline.errors import StoreError
from verification_pipeline.keys import hash_of
from verification_pipeline.tables import TABLES, Table

FORMAT = 2


class TableFiles(Protocol):
    """What a step needs of the store that opens itself."""

    def files(self, name: str) -> list[Path]:
        """The files a table has on disk."""

    def replace(self, name: str, path: Path, data: pl.DataFrame) -> None:
        """Check, sort and write the rows of one of them."""


def schema() -> str:
    """Hash of the names and types of every registered column, and of which may be null."""
    return hash_of(
        *(f"{table.name}.{c.name}: {c.dtype} {c.nullable}" for table in TABLES.values() for c in table.columns)
    )


def migrate(store: TableFiles, found: int) -> None:
    """Bring the files of a store in format `found`, which the caller has locked, to what this version reads."""
    for number in range(found, FORMAT):
        STEPS[number](store)
    _fill_up(store)


def _fill_up(store: TableFiles) -> None:
    """Give table files from before the columns that were added since. StoreError: a file that cannot be filled up."""
    for table in TABLES.values():
        for path in store.files(table.name) if table.name != "texts" else ():
            try:
                found = pl.read_parquet_schema(path)
                if dict(found) != dict(table.schema):
                    store.replace(table.name, path, _filled(table, pl.read_parquet(path, memory_map=False)))
            except (pl.exceptions.PolarsError, OSError) as error:
                raise StoreError(f"table {table.name}, file {path}: cannot be read ({error})") from error


def _filled(table: Table, data: pl.DataFrame) -> pl.DataFrame:
    foreign = [name for name in data.columns if name not in table.schema]
    if foreign:
        raise StoreError(
            f"table {table.name} has columns {', '.join(foreign)} that this version does not know: "
            "a later version wrote the store; install that one"
        )
    added = [pl.lit(None, column.dtype).alias(column.name) for column in table.columns if column.name not in data]
    return data.with_columns(added).select(table.schema.names())


def _record_schema(_: TableFiles) -> None:
    """1 to 2: store.json tells the registry's schema. Files are filled up as always."""


STEPS: Mapping[int, Callable[[TableFiles], None]] = {1: _record_schema}
