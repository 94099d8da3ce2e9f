"""How the command prints: JSON, CSV, tables and lines, with nothing that a terminal would obey; the progress bars.

Belongs here: what every command shares to say things. Does not belong here: what is said (the commands), receipts
(`receipts.terminal`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    import polars as pl

    from verification_pipeline.shards import Progress

_NARROWEST = 10  # signs of a column that can still be read
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON may hold as it is and a terminal, or whoever reads line by line, obeys: always inside a string."""


def one_line(text: str) -> str:
    """Text from files and documents for a terminal: one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def print_json(text: str) -> None:
    """JSON text, line ends included."""
    print(_OBEYED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text), end="")


def say_aside(lines: Iterable[str]) -> None:
    """Lines on standard error, after the name of the command."""
    for line in lines:
        print(f"verification-pipeline: {one_line(line)}", file=sys.stderr)


def print_csv(table: pl.DataFrame) -> None:
    """CSV as it is for whoever reads a pipe; on a terminal, without what a terminal would obey."""
    text = _flat(table).write_csv()
    if sys.stdout.isatty():
        text = "\n".join(map(one_line, text.split("\n")))
    print(text, end="")


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Lists and structs as JSON text: CSV has no other word for them."""
    import polars as pl

    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    return table.with_columns(
        pl.Series(name, [json.dumps(value, ensure_ascii=False, default=str) for value in table[name].to_list()])
        for name in nested
    )


def print_aligned(table: pl.DataFrame) -> None:
    """A table without its empty columns, in lines that cut nothing."""
    told = {name: table[name] for name in table.columns if table[name].null_count() < table.height}
    kept = [name for name, values in told.items() if any(str(value) for value in values)]
    if kept:
        _print_lines(kept, table.select(kept).iter_rows())


def _print_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Lines in columns as wide as their widest value, so that nothing is cut and one line stays one row."""
    from rich.cells import cell_len

    lines = [[_cell(value) for value in row] for row in (columns, *rows)]
    widths = [max(map(cell_len, values)) for values in zip(*lines, strict=True)]
    for line in lines:
        padded = (value + " " * (width - cell_len(value)) for value, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    """A value as one line of a table; lists and structs as JSON."""
    if isinstance(value, (list, dict)):
        return one_line(json.dumps(value, ensure_ascii=False, default=str))
    return one_line("" if value is None else str(value))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table that fits a terminal, long values folded; lines that cut nothing where a program or a file reads."""
    console = Console()
    if not console.is_terminal:
        _print_lines(columns, rows)
        return
    from rich.table import Column, Table
    from rich.text import Text

    titles = [Text(one_line(column)) for column in columns]
    if len(titles) * _NARROWEST <= console.width:
        table = Table(*(Column(title, overflow="fold") for title in titles))
        for row in rows:
            table.add_row(*(Text(_cell(value)) for value in row))
        console.print(table)
        return
    for row in rows:  # too many columns to stand side by side: one record under the other
        record = Table.grid(Column(style="bold"), Column(overflow="fold"), padding=(0, 2))
        for title, value in zip(titles, row, strict=True):
            record.add_row(title, Text(_cell(value)))
        console.print(record, "")


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Progress]:
    """A bar a stage on a terminal; nothing when piped or for JSON."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield advance
