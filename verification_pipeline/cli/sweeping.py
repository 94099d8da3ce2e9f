"""`sweep`: the retraction registers asked again, and the statuses printed by work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verification_pipeline.cli.options import DEFAULT_OUT, Config, Json, Out, day_of, opened, stored
from verification_pipeline.cli.output import print_aligned, print_json, say_aside
from verification_pipeline.errors import UsageError

if TYPE_CHECKING:
    from datetime import date

    import polars as pl

    from verification_pipeline.config import Registers


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

    from verification_pipeline.clock import refuse_if_set_back
    from verification_pipeline.stages import exposure, works

    clock = datetime.now(UTC)
    today = clock.date()
    known = day_of("--known-at", known_at) if known_at else None
    days = _days(as_of) if as_of else (known or today, known or today)
    lines = _lines(dois) if dois is not None else None
    store = stored(out) if lines is None else opened(out)
    named = config is not None or retraction_watch is not None or online
    if named:
        registers = _registers(config, retraction_watch, online)
    else:
        registers = works.registers_by(store, known) if known else works.last_registers(store)
    with store.locked() as store:
        refuse_if_set_back(store)
        if lines is None:
            if not works.any_register(registers):
                raise UsageError("no register to ask: give --retraction-watch FILE, --online or --config")
            corpora = store.read_all("documents", ["corpus"])["corpus"].unique().sort().to_list()
            asked, refused = works.cited_works(store, corpora), list[str]()
        else:
            asked, refused = works.listed_works(lines)
        swept = works.sweep_days(store, asked, registers, days, known, clock)
        affected = exposure.on_days(store, swept.history, *days)
    say_aside(f"no DOI in {line!r}" for line in refused)
    say_aside(f"register down: {line}" for line in swept.outages)
    _print_statuses(swept.statuses, affected, as_json, with_periods=days[0] < days[1])
    if swept.outages:
        raise typer.Exit(3)


def _days(value: str) -> tuple[date, date]:
    first, dots, last = value.partition("..")
    return day_of("--as-of", first), day_of("--as-of", last if dots else first)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


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
            say_aside([f"openalex is not asked: no key in {variable}"])
    return settings_of.load(base, {"registers": layer}).registers


def _print_statuses(statuses: pl.DataFrame, affected: pl.DataFrame, as_json: bool, *, with_periods: bool) -> None:
    """Statuses by work, and the documents that cite a retracted one: a table each, or inside the row of the work."""
    import polars as pl

    if as_json:
        told = affected.select(
            "work_id", status=pl.lit("retracted"), documents=pl.struct(pl.exclude("work_id", "doi", "first_look"))
        )
        by_work = told.group_by("work_id", "status", maintain_order=True).agg("documents")
        rows = statuses.join(by_work, on=["work_id", "status"], how="left", maintain_order="left")
        print_json(rows.write_ndjson())
        return
    periods = ["valid_from", "valid_to"] if with_periods else []
    columns = ["work_id", *periods, "status", "date", "notice_url", "flags", "registers", "reason"]
    print_aligned(statuses.select(columns).with_columns(pl.col("flags", "registers").list.join(" ")))
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
        print_aligned(affected.select(columns))
