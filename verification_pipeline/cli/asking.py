"""Commands that read a store and change nothing: `sql`, `changes`, `findings`, `show`, `verify-receipt`."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from verification_pipeline.cli.options import DEFAULT_OUT, Json, Out, stored
from verification_pipeline.cli.output import one_line, print_csv, print_json, print_table
from verification_pipeline.errors import UsageError

if TYPE_CHECKING:
    from verification_pipeline.store import Store

_NAME = re.compile(r"[\w/-]+\Z")
_PIPED_WIDTH = 120  # of a page of text where no terminal says how wide it is


def sql(
    statement: Annotated[str | None, typer.Argument(help="A SELECT, or the name of a query; none: list them.")] = None,
    out: Out = DEFAULT_OUT,
    param: Annotated[list[str] | None, typer.Option("--param", help="NAME=VALUE for $NAME (repeatable).")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Ask the DuckDB file, read-only; the views and analyses that ship are known by name."""
    import duckdb

    from verification_pipeline import queries

    if statement is None:
        known = map(queries.query, queries.names())
        print_table(["query", "parameters", "what it says"], ((q.name, q.params, q.says) for q in known))
        return
    path = stored(out).root / "verification.duckdb"
    if not path.exists():
        raise UsageError(f"{path} does not exist yet: finish a run first")
    if as_csv and as_json:
        raise UsageError("--csv or --json, not both")
    params = _params(param or [])
    text = _text_of(statement, params or {})
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET TimeZone = 'UTC'")
            if len(connection.extract_statements(text)) != 1:
                raise UsageError("sql wants one statement")
            result = connection.sql(text, params=params)
            table = result.pl() if result is not None else None
    except duckdb.Error as error:
        raise UsageError(_no_query(statement) if _NAME.match(statement) else f"SQL: {error}") from error
    if table is None:
        return
    if as_json:
        print_json(table.write_ndjson())
    elif as_csv:
        print_csv(table)
    else:
        print_table(table.columns, table.iter_rows())


def _text_of(statement: str, given: Collection[str]) -> str:
    """A statement, or that of a query by name. UsageError: one of its parameters is not given."""
    from verification_pipeline import queries

    if statement not in queries.names():
        return statement
    query = queries.query(statement)
    if missing := [name for name in query.parameters if name not in given]:
        raise UsageError(f"{statement} needs {' and '.join(f'--param {name}=…' for name in missing)}: {query.params}")
    return query.sql


def _no_query(name: str) -> str:
    from difflib import get_close_matches

    from verification_pipeline import queries

    near = [known for known in queries.names() if known.endswith(f"/{name}")]
    near = near or get_close_matches(name, queries.names())
    return f"no query {name!r}{f': perhaps {near[0]}' if near else ''} (`sql` alone lists them all)"


def _params(given: list[str]) -> dict[str, str] | None:
    """Named parameters of a statement; DuckDB wants none at all where there are none."""
    named = dict(one.split("=", 1) for one in given if "=" in one)
    if len(named) != len(given):
        raise UsageError("--param wants NAME=VALUE, each name once, such as --param day=2026-11-30")
    return named or None


def changes(
    out: Out = DEFAULT_OUT,
    run: Annotated[str | None, typer.Option("--run", help="Run id; default: the last completed run.")] = None,
    as_json: Json = False,
) -> None:
    """What differs from the night before, with one cause each."""
    import polars as pl

    store = stored(out)
    runs = store.read("runs").filter(pl.col("finished_at").is_not_null()).sort("finished_at")
    if not runs.height:
        raise UsageError(f"{out} holds no completed run yet")
    chosen = run or str(runs["run_id"][-1])
    if chosen not in runs["run_id"]:
        raise UsageError(f"{out} holds no completed run {chosen!r}: there are {', '.join(runs['run_id'])}")
    names = store.read_all("documents", ["document_key", "corpus", "document_id"])
    found = store.read("changes").filter(pl.col("run_id") == chosen).join(names, on="document_key", how="left")
    columns = ["corpus", "document_id", "what", "before", "after", "cause", "pair_id", "quote_id", "work_id"]
    table = found.select(columns).sort(columns, nulls_last=True)
    if as_json:
        print_json(table.write_ndjson())
    elif table.height:
        print_table(columns[:6], table.select(columns[:6]).iter_rows())
    else:
        print(f"Run {chosen}: nothing changed.")


def findings(out: Out = DEFAULT_OUT) -> None:
    """Graded pairs that are not supported, as the cite-checker's JSON."""
    from datetime import UTC, datetime

    from verification_pipeline.receipts.findings import findings as of
    from verification_pipeline.stages.assembling import inputs

    store = stored(out)
    day = datetime.now(UTC).date()
    found = []
    for shard in range(store.shards):
        keys = store.read("documents", shard, columns=["document_key"])["document_key"].to_list()
        found += of(inputs(store, shard, keys, day))
    print_json(json.dumps(found, ensure_ascii=False, indent=2) + "\n")


def verify_receipt(
    file: Annotated[Path, typer.Argument(help="A receipt (JSON).", dir_okay=False)], out: Out = DEFAULT_OUT
) -> None:
    """Recompute a receipt's digest and sums, and slice every evidence span again from the stored texts."""
    from verification_pipeline.receipts.verify import verify_receipt as faults_of

    try:
        receipt = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no receipt, for it is no JSON: {error}") from error
    if not isinstance(receipt, dict):
        raise UsageError(f"{file} is no receipt: a receipt is a JSON object")
    faults = faults_of(receipt, stored(out).text)
    for fault in faults:
        print(one_line(fault))
    if faults:
        raise typer.Exit(1)
    print("The receipt is what it says: digest, sums and every evidence span hold.")


def show(
    document: Annotated[str, typer.Argument(help="A document id, a document key, or corpus/document id.")],
    out: Out = DEFAULT_OUT,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write it as a page to this file.", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """One document's receipt, for reading."""
    from verification_pipeline.receipts import terminal

    store = stored(out)
    receipt = _receipt_of(store, document)
    if html is not None:
        _write_page(html, json.loads(receipt), store)
    elif as_json:
        print_json(receipt + "\n")
    else:
        piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
        Console(width=_PIPED_WIDTH if piped else None).print(terminal.render(json.loads(receipt)))


def _receipt_of(store: Store, name: str) -> str:
    """The current receipt of the one document that `name` means. UsageError when it means none or several."""
    import polars as pl

    documents = store.read_all("documents", ["document_key", "corpus", "document_id"])
    full = pl.concat_str("corpus", pl.lit("/"), "document_id")
    meant = documents.filter((pl.col("document_id") == name) | (pl.col("document_key") == name) | (full == name))
    if meant.height != 1:
        several = ", ".join(f"{corpus}/{name}" for corpus in meant["corpus"])
        raise UsageError(
            f"document {name!r} is in several corpora: say {several}"
            if several
            else f"no document {name!r} in {store.name}; its table `documents` lists them"
        )
    key = meant["document_key"][0]
    for shard in range(store.shards):
        found = store.read("receipts", shard).filter((pl.col("document_key") == key) & pl.col("current"))
        if found.height:
            return str(found["receipt"][0])
    raise UsageError(f"document {name!r} has no receipt yet: finish a run first")


def _write_page(file: Path, receipt: dict[str, Any], store: Store) -> None:
    from verification_pipeline.keys import shard_of
    from verification_pipeline.receipts import page
    from verification_pipeline.stages.loading import text_lookup

    shard = shard_of(receipt["document"]["document_key"], store.shards)
    try:
        file.write_bytes(page.render(receipt, text_lookup(store, shard)).encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
