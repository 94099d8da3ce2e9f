"""The command `verification-pipeline`. Parses options, starts a night, prints; every judgement is elsewhere.

Exit status: 0 done; 1 with --gate when a document failed or was not verified; 2 bad usage or input, with one line on
standard error; 3 incomplete (pending answers, or another run holds the store). Dagster is imported only by `run`
and `sweep`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from verification_pipeline import __version__
from verification_pipeline.errors import PipelineError, StoreBusy, UsageError, WorkerLost

if TYPE_CHECKING:
    from datetime import date

    import polars as pl
    from polars import DataFrame

    from verification_pipeline.bucket import Bucket
    from verification_pipeline.checkers.llm.money import Spent
    from verification_pipeline.config import Registers
    from verification_pipeline.night import Night, Options
    from verification_pipeline.shards import Progress
    from verification_pipeline.stages.waiving import Audit
    from verification_pipeline.store import Store
    from verification_pipeline.summary import Summary

app = typer.Typer(
    name="verification-pipeline",
    help="Re-verify archives of cited documents, citation by citation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Out = Annotated[str, typer.Option("--out", help="Folder of the store, or an address such as s3://bucket/prefix.")]
Config = Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).", dir_okay=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

DEFAULT_OUT = "out/nightly"
_NARROWEST = 10  # signs of a column that can still be read
_PIPED_WIDTH = 120  # of a page of text where no terminal says how wide it is


def main() -> None:
    """Entry point: runs the app and turns the package's errors into one line and an exit status."""
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")
    try:
        app()
    except (StoreBusy, WorkerLost) as error:
        _fail(error, 3)
    except PipelineError as error:
        _fail(error, 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _fail(error: PipelineError, status: int) -> None:
    print(f"verification-pipeline: {_one_line(str(error))}", file=sys.stderr)
    sys.exit(status)


def _one_line(text: str) -> str:
    """Text from files and documents for a terminal: one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON may hold as it is and a terminal, or whoever reads line by line, obeys: always inside a string."""


def _print_json(text: str) -> None:
    print(_OBEYED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text), end="")


def _version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print version.")
    ] = False,
) -> None:
    """Re-verify archives of cited documents, citation by citation."""


@app.command()
def run(
    corpus: Annotated[list[Path] | None, typer.Argument(help="Corpora; none: the embedded sample.")] = None,
    out: Out = DEFAULT_OUT,
    config: Config = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", help="Only this document id (repeatable).")
    ] = None,
    recheck: Annotated[bool, typer.Option("--recheck", help="Do everything in scope again.")] = False,
    checker: Annotated[str | None, typer.Option(help="embedded, openai, embedded+openai, replay or none.")] = None,
    llm_mode: Annotated[str | None, typer.Option(help="online, batch or offline-file.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what a model's reading would cost, and send nothing.")
    ] = False,
    budget: Annotated[float | None, typer.Option(min=0, help="Most cents that this run may pay a model.")] = None,
    sample: Annotated[str | None, typer.Option(help="all, strong-markers, or a share 0..1 of the rest.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sample.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: all cores.")] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit 1 if a document failed or was not verified.")] = False,
    html: Annotated[bool, typer.Option("--html", help="A page for every receipt, beside its JSON.")] = False,
    as_json: Json = False,
) -> None:
    """Verify corpora: a folder, a bundle (.jsonl, .parquet) or a vault each."""
    from dataclasses import asdict

    from verification_pipeline.night import Options, open_night
    from verification_pipeline.stages.waiving import audit
    from verification_pipeline.summary import spending, summarise

    overrides = _overrides(checker, sample, seed, llm_mode, budget)
    count = workers or os.cpu_count() or 1
    options = Options(_place(out), tuple(corpus or ()), config, overrides, tuple(document or ()), recheck, count, html)
    with _progress(as_json) as progress, open_night(options, progress) as night:
        _execute("selection" if estimate else "nightly", night)
        if estimate:
            _print_estimate(night, as_json=as_json)
            return
        summary = summarise(night.store, night.scope.settings)
        waivers = audit(night.store, night.waivers, night.day)
        spent = spending(night.store, night.run_id, night.started_at)
    if as_json:
        told = {
            "out": out,
            "run_id": night.run_id,
            **summary.as_json(),
            "spending": [asdict(one) for one in spent],
            "waivers": asdict(waivers),
        }
        _print_json(json.dumps(told, ensure_ascii=False) + "\n")
    else:
        _print_summary(summary, spent, waivers, night.store, options)
    if not summary.complete:
        raise typer.Exit(3)
    if gate and (summary.failed or summary.not_verified):
        raise typer.Exit(1)


def _overrides(
    checker: str | None, sample: str | None, seed: int | None, mode: str | None, budget: float | None
) -> dict[str, Any]:
    """Options as settings, nested as in a configuration file; what was not given is left out."""
    given = {
        ("sampling", "sample"): sample if sample in (None, "all", "strong-markers") else _share(str(sample)),
        ("sampling", "seed"): seed,
        ("checker", "kind"): checker,
        ("checker", "openai", "mode"): mode,
        ("checker", "openai", "budget_cents"): budget,
    }
    chosen: dict[str, Any] = {}
    for (*sections, name), value in given.items():
        if value is not None:
            section = chosen
            for key in sections:
                section = section.setdefault(key, {})
            section[name] = value
    return chosen


def _print_estimate(night: Night, *, as_json: bool) -> None:
    from dataclasses import asdict

    from verification_pipeline.stages.grading import estimate

    found = estimate(night.store, night.scope)
    if as_json:
        _print_json(json.dumps(asdict(found)) + "\n")
        return
    price = "no price is configured for this model" if found.cents is None else f"about {found.cents:.2f} cents"
    print(f"{found.pairs} pairs: {found.answered} answered before, {found.pending} pending")
    print(f"{found.requests} requests, {found.input_tokens} tokens in, {found.output_tokens} out: {price}")


def _share(value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise UsageError(f"--sample {value!r}: use all, strong-markers, or a number from 0 to 1")
    return share


def _execute(job: str, night: Night) -> None:
    """Run a job of the orchestrator in this process; its failures come out as the package's own errors."""
    import dagster as dg

    from assets.definitions import build_defs
    from verification_pipeline.errors import ContractError
    from verification_pipeline.sums import broken_sums

    definitions = build_defs(night=night)
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    tags = {"night": night.day.isoformat()}
    try:
        definitions.resolve_job_def(job).execute_in_process(run_config=quiet, tags=tags)
    except dg.DagsterError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, PipelineError):
            cause = cause.__cause__
        if isinstance(cause, PipelineError):
            raise cause from None
        broken = broken_sums(night.store)
        raise ContractError(f"sums that must hold do not: {'; '.join(broken)}" if broken else str(error)) from error


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
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


def _print_summary(summary: Summary, spent: Sequence[Spent], waivers: Audit, store: Store, options: Options) -> None:
    names = ", ".join(str(path) for path in options.corpora) or "the embedded sample"
    print(f"Verified {_one_line(names)}")
    print(
        f"  documents   {summary.documents}: {summary.passed} passed, {summary.failed} failed, "
        f"{summary.not_verified} not verified" + (f", {summary.unreadable} unreadable" if summary.unreadable else "")
    )
    print(
        f"  pairs       {summary.pairs}: {summary.auto_passed} passed without a reader, {summary.checked} checked, "
        f"{summary.not_checked} not checked, {summary.dangling} dangling"
    )
    for title, counts in (
        ("verdicts", summary.verdicts),
        ("not checked", summary.not_checked_reasons),
        ("quotes", summary.quotes),
        ("works", summary.works),
    ):
        if counts:
            print(f"  {title:<11} " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if summary.problems:
        print(f"  problems    {summary.problems} with the input (table problems)")
    for one in spent:
        left = f", up to {one.possibly:.2f} more for answers that are out" if one.possibly else ""
        print(
            f"  model       {_one_line(one.model)}, {one.mode}: {one.requests} requests, {one.cents:.2f} cents{left}; "
            f"{one.input_tokens} tokens in ({one.cached_tokens} cached), {one.output_tokens} out"
        )
    told = (*waivers.expired, *waivers.unused)
    if told or waivers.in_force:
        print(
            f"  waivers     {waivers.in_force} in force, {len(waivers.unused)} of them unused, "
            f"{len(waivers.expired)} ran out"
        )
    for line in told:
        print(f"              {_one_line(line)}")
    root, here = _one_line(store.name), _one_line(str(store.root))
    print(f"Receipts in {root}/receipts, tables in {root}/tables, SQL in {here}/verification.duckdb")


def _place(out: str) -> Path | Bucket:
    """What --out names; VERIFICATION_LOCAL says where copies of an object store's files lie."""
    if "://" not in out:
        return Path(out)
    from verification_pipeline.bucket import place_of

    return place_of(out, os.environ.get("VERIFICATION_LOCAL"))


def _store(out: str) -> Store:
    from verification_pipeline.store import Store

    return Store.open(_place(out), create=False)


@app.command()
def sweep(
    dois: Annotated[Path | None, typer.Argument(help="One DOI a line; none: every work cited in the store.")] = None,
    out: Out = DEFAULT_OUT,
    config: Config = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Day, or FIRST..LAST; default: the day of --known-at, else today.")
    ] = None,
    known_at: Annotated[
        str | None,
        typer.Option("--known-at", help="What was known at the end of this day (UTC); of a past day nobody is asked."),
    ] = None,
    retraction_watch: Annotated[Path | None, typer.Option(help="Retraction Watch CSV.", dir_okay=False)] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Ask Crossref and PubMed; OpenAlex too where its key is set.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask the retraction registers about works, without touching documents.

    Registers: those named here, else those of the last night. Days are UTC; a range prints the periods within it.
    """
    from datetime import UTC, datetime

    from verification_pipeline.stages import exposure, works

    clock = datetime.now(UTC)
    today = clock.date()
    known = _day("--known-at", known_at) if known_at else None
    days = _days(as_of) if as_of else (known or today, known or today)
    lines = _lines(dois) if dois is not None else None
    store = _store(out) if lines is None else _opened(out)
    named = config is not None or retraction_watch is not None or online
    if named:
        registers = _registers(config, retraction_watch, online)
    else:
        registers = works.registers_by(store, known) if known else works.last_registers(store)
    with store.locked():
        if lines is None:
            if not works.any_register(registers):
                raise UsageError("no register to ask: give --retraction-watch FILE, --online or --config")
            corpora = store.read_all("documents", ["corpus"])["corpus"].unique().sort().to_list()
            asked, refused = works.cited_works(store, corpora), list[str]()
        else:
            asked, refused = works.listed_works(lines)
        swept = works.sweep_days(store, asked, registers, days, known, clock)
        affected = exposure.on_days(store, swept.history, *days)
    _say_aside(f"no DOI in {line!r}" for line in refused)
    _say_aside(f"register down: {line}" for line in swept.outages)
    _print_statuses(swept.statuses, affected, as_json, with_periods=days[0] < days[1])
    if swept.outages:
        raise typer.Exit(3)


def _registers(config: Path | None, retraction_watch: Path | None, online: bool) -> Registers:
    """The registers that the options name, over those of a settings file."""
    from verification_pipeline import config as settings_of

    base = settings_of.read_toml(config) if config else {}
    layer: dict[str, Any] = {"retraction_watch": str(retraction_watch)} if retraction_watch else {}
    if online:
        told = settings_of.load(base).registers
        variable = told.openalex_key_env
        layer |= {"crossref": True, "pubmed": True, "openalex": told.openalex or bool(os.environ.get(variable))}
        if not layer["openalex"]:
            _say_aside([f"openalex is not asked: no key in {variable}"])
    return settings_of.load(base, {"registers": layer}).registers


def _say_aside(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"verification-pipeline: {_one_line(line)}", file=sys.stderr)


def _print_statuses(statuses: pl.DataFrame, affected: pl.DataFrame, as_json: bool, *, with_periods: bool) -> None:
    """Statuses by work, and the documents that cite a retracted one: a table each, or inside the row of the work."""
    import polars as pl

    if as_json:
        told = affected.select(
            "work_id", status=pl.lit("retracted"), documents=pl.struct(pl.exclude("work_id", "doi", "first_look"))
        )
        by_work = told.group_by("work_id", "status", maintain_order=True).agg("documents")
        rows = statuses.join(by_work, on=["work_id", "status"], how="left", maintain_order="left")
        _print_json(rows.write_ndjson())
        return
    periods = ["valid_from", "valid_to"] if with_periods else []
    columns = ["work_id", *periods, "status", "date", "notice_url", "flags", "registers", "reason"]
    _print_aligned(statuses.select(columns).with_columns(pl.col("flags", "registers").list.join(" ")))
    last = statuses.filter(pl.col("valid_to").is_null()).group_by("status").len().sort("status")
    counts = ", ".join(f"{count} {status}" for status, count in last.iter_rows())
    print(f"Works{' on the last day' if with_periods else ''}: {counts or 'none'}.")
    if affected.height:
        print(f"\nDocuments that cite a {'work which became retracted' if with_periods else 'retracted work'}:\n")
        columns = [
            "corpus",
            "document_id",
            "document_date",
            "work_id",
            "notice_date",
            "cited_when",
            "noted_in_document",
        ]
        _print_aligned(affected.select(columns))


def _print_aligned(table: pl.DataFrame) -> None:
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
        return _one_line(json.dumps(value, ensure_ascii=False, default=str))
    return _one_line("" if value is None else str(value))


def _day(option: str, value: str) -> date:
    from datetime import date

    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(f"{option} {value!r} is no ISO day such as 2026-11-30") from None


def _days(value: str) -> tuple[date, date]:
    first, dots, last = value.partition("..")
    return _day("--as-of", first), _day("--as-of", last if dots else first)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _opened(out: str) -> Store:
    from verification_pipeline.store import Store

    return Store.open(_place(out))


@app.command()
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
        _print_table(["query", "parameters", "what it says"], ((q.name, q.params, q.says) for q in known))
        return
    path = _store(out).root / "verification.duckdb"
    if not path.exists():
        raise UsageError(f"{path} does not exist yet: finish a run first")
    text = queries.load(statement) if statement in queries.names() else statement
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET TimeZone = 'UTC'")
            result = connection.sql(text, params=_params(param or []))
            table = result.pl() if result is not None else None
    except duckdb.Error as error:
        raise UsageError(f"SQL: {error}") from error
    if table is None:
        return
    if as_json:
        _print_json(table.write_ndjson())
    elif as_csv:
        _print_csv(_flat(table).write_csv())
    else:
        _print_table(table.columns, table.iter_rows())


def _print_csv(text: str) -> None:
    """CSV as it is for whoever reads a pipe; on a terminal, without what a terminal would obey."""
    if sys.stdout.isatty():
        text = "\n".join(map(_one_line, text.split("\n")))
    print(text, end="")


def _flat(table: DataFrame) -> DataFrame:
    """Lists and structs as JSON text: CSV has no other word for them."""
    import polars as pl

    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    return table.with_columns(
        pl.Series(name, [json.dumps(value, ensure_ascii=False, default=str) for value in table[name].to_list()])
        for name in nested
    )


def _params(given: list[str]) -> dict[str, str] | None:
    """Named parameters of a statement; DuckDB wants none at all where there are none."""
    named = dict(one.split("=", 1) for one in given if "=" in one)
    if len(named) != len(given):
        raise UsageError("--param wants NAME=VALUE, each name once, such as --param day=2026-11-30")
    return named or None


@app.command()
def changes(
    out: Out = DEFAULT_OUT,
    run: Annotated[str | None, typer.Option("--run", help="Run id; default: the last completed run.")] = None,
    as_json: Json = False,
) -> None:
    """What differs from the night before, with one cause each."""
    import polars as pl

    store = _store(out)
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
        _print_json(table.write_ndjson())
    elif table.height:
        _print_table(columns[:6], table.select(columns[:6]).iter_rows())
    else:
        print(f"Run {chosen}: nothing changed.")


@app.command()
def findings(out: Out = DEFAULT_OUT) -> None:
    """Graded pairs that are not supported, as the cite-checker's JSON."""
    from datetime import UTC, datetime

    from verification_pipeline.receipts.findings import findings as of
    from verification_pipeline.stages.assembling import inputs

    store = _store(out)
    day = datetime.now(UTC).date()
    found = []
    for shard in range(store.shards):
        keys = store.read("documents", shard, columns=["document_key"])["document_key"].to_list()
        found += of(inputs(store, shard, keys, day))
    _print_json(json.dumps(found, ensure_ascii=False, indent=2) + "\n")


@app.command("verify-receipt")
def verify_receipt(
    file: Annotated[Path, typer.Argument(help="A receipt (JSON).", dir_okay=False)], out: Out = DEFAULT_OUT
) -> None:
    """Recompute a receipt's digest and sums, and slice every evidence span again from the stored texts."""
    from verification_pipeline.receipts.verify import verify_receipt as faults_of

    try:
        receipt = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} is no receipt: {error}") from error
    faults = faults_of(receipt, _store(out).text)
    for fault in faults:
        print(_one_line(fault))
    if faults:
        raise typer.Exit(1)
    print("The receipt is what it says: digest, sums and every evidence span hold.")


@app.command()
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

    store = _store(out)
    receipt = _receipt_of(store, document)
    if html is not None:
        _write_page(html, json.loads(receipt), store)
    elif as_json:
        _print_json(receipt + "\n")
    else:
        piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
        Console(width=_PIPED_WIDTH if piped else None).print(terminal.render(json.loads(receipt)))


def _write_page(file: Path, receipt: dict[str, Any], store: Store) -> None:
    from verification_pipeline.keys import shard_of
    from verification_pipeline.receipts import page
    from verification_pipeline.stages.loading import text_lookup

    shard = shard_of(receipt["document"]["document_key"], store.shards)
    try:
        file.write_bytes(page.render(receipt, text_lookup(store, shard)).encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


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
            else f"no document {name!r} in the store"
        )
    key = meant["document_key"][0]
    for shard in range(store.shards):
        found = store.read("receipts", shard).filter((pl.col("document_key") == key) & pl.col("current"))
        if found.height:
            return str(found["receipt"][0])
    raise UsageError(f"document {name!r} has no receipt yet: finish a run first")


@app.command()
def doctor(
    out: Out = DEFAULT_OUT,
    config: Config = None,
    online: Annotated[bool, typer.Option("--online", help="Ask the registers and the model's server too.")] = False,
    as_json: Json = False,
) -> None:
    """Say whether machine, store and registers are fit for a night, and what to do; exit status 1 if one is not."""
    from dataclasses import asdict

    from verification_pipeline import config as settings_of
    from verification_pipeline.operations.doctor import examine

    found = list(examine(_place(out), settings_of.read_toml(config) if config else {}, online=online))
    if as_json:
        _print_json(json.dumps([asdict(one) for one in found], ensure_ascii=False) + "\n")
    else:
        width = max(len(one.subject) for one in found)
        for one in found:
            print(f"{one.outcome:<8}{one.subject:<{width}}  {_one_line(one.found)}")
            if one.advice is not None:
                print(f"{'':8}{'':{width}}  -> {_one_line(one.advice)}")
    if any(one.outcome == "failed" for one in found):
        raise typer.Exit(1)


@app.command()
def prune(
    out: Out = DEFAULT_OUT,
    keep_nights: Annotated[int | None, typer.Option("--keep-nights", min=1, help="Keep the last N nights.")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Let go of nights before this day (UTC).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Let go of old nights, of receipts superseded in them, and of texts that nothing needs any more."""
    from dataclasses import asdict

    from verification_pipeline.operations.pruning import prune as pruned

    day = None if before is None else _day("--before", before)
    done = pruned(_store(out), keep_nights=keep_nights, before=day, dry_run=dry_run)
    if as_json:
        _print_json(json.dumps(asdict(done), default=str) + "\n")
    elif done.before is None:
        print("No night was finished yet: nothing goes.")
    else:
        rows = ", ".join(f"{count} {name}" for name, count in done.rows.items())
        print(
            f"{'Would let go' if dry_run else 'Let go'} of nights before {done.before}: rows {rows}; "
            f"{done.files} files; {done.bytes} bytes of receipts, texts and files."
        )


@app.command()
def reshard(
    shards: Annotated[int, typer.Option("--shards", help="Document shards that the store is to have.")],
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """Rewrite a store to another number of document shards; nothing is read or checked again."""
    from dataclasses import asdict

    from verification_pipeline.operations.resharding import reshard as rewritten

    with _progress(as_json) as progress:
        done = rewritten(_store(out), shards, progress)
    if as_json:
        _print_json(json.dumps(asdict(done)) + "\n")
    elif done.shards == done.shards_before:
        print(f"The store has {shards} shards already.")
    else:
        print(f"Moved {done.rows} rows and {done.texts} texts from {done.shards_before} shards to {done.shards}.")


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table that fits a terminal, long values folded; lines that cut nothing where a program or a file reads."""
    console = Console()
    if not console.is_terminal:
        _print_lines(columns, rows)
        return
    from rich.table import Column, Table
    from rich.text import Text

    titles = [Text(_one_line(column)) for column in columns]
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


if __name__ == "__main__":
    main()
