"""`run`: a night, and what it prints when it is over. Dagster is imported here, and only when a night starts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verification_pipeline.cli.options import DEFAULT_OUT, Config, Json, Out, place
from verification_pipeline.cli.output import one_line, print_json, progress_bars, say_aside
from verification_pipeline.errors import PipelineError, UsageError

if TYPE_CHECKING:
    from verification_pipeline.checkers.llm.money import Spent
    from verification_pipeline.night import Night, Options
    from verification_pipeline.stages.waiving import Audit
    from verification_pipeline.store import Store
    from verification_pipeline.summary import Summary


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
    from verification_pipeline.stages.works import unanswered_at
    from verification_pipeline.summary import spending, summarise

    overrides = _overrides(checker, sample, seed, llm_mode, budget)
    count = workers or os.cpu_count() or 1
    options = Options(place(out), tuple(corpus or ()), config, overrides, tuple(document or ()), recheck, count, html)
    with progress_bars(as_json) as progress, open_night(options, progress) as night:
        _execute("selection" if estimate else "nightly", night)
        if estimate:
            _print_estimate(night, as_json=as_json)
            return
        summary = summarise(night.store, night.scope.settings)
        waivers = audit(night.store, night.waivers, night.day)
        spent = spending(night.store, night.run_id, night.started_at)
        unanswered = unanswered_at(night.store, night.started_at)
    if as_json:
        told = {
            "out": out,
            "run_id": night.run_id,
            **summary.as_json(),
            "spending": [asdict(one) for one in spent],
            "waivers": asdict(waivers),
            "unanswered": unanswered,
        }
        print_json(json.dumps(told, ensure_ascii=False) + "\n")
    else:
        _print_summary(summary, spent, waivers, night.store, options)
    say_aside(f"{line}; the last good statuses stand, marked stale" for line in unanswered)
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
    except dg.DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None
    except dg.DagsterError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, PipelineError):
            cause = cause.__cause__
        if isinstance(cause, PipelineError):
            raise cause from None
        broken = broken_sums(night.store)
        raise ContractError(f"sums that must hold do not: {'; '.join(broken)}" if broken else str(error)) from error


def _print_estimate(night: Night, *, as_json: bool) -> None:
    from dataclasses import asdict

    from verification_pipeline.stages.grading import estimate

    found = estimate(night.store, night.scope)
    if as_json:
        print_json(json.dumps(asdict(found)) + "\n")
        return
    price = "no price is configured for this model" if found.cents is None else f"about {found.cents:.2f} cents"
    print(f"{found.pairs} pairs: {found.answered} answered before, {found.pending} pending")
    print(f"{found.requests} requests, {found.input_tokens} tokens in, {found.output_tokens} out: {price}")


def _print_summary(summary: Summary, spent: Sequence[Spent], waivers: Audit, store: Store, options: Options) -> None:
    names = ", ".join(str(path) for path in options.corpora) or "the embedded sample"
    print(f"Verified {one_line(names)}")
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
            f"  model       {one_line(one.model)}, {one.mode}: {one.requests} requests, {one.cents:.2f} cents{left}; "
            f"{one.input_tokens} tokens in ({one.cached_tokens} cached), {one.output_tokens} out"
        )
    told = (*waivers.expired, *waivers.unused)
    if told or waivers.in_force:
        print(
            f"  waivers     {waivers.in_force} in force, {len(waivers.unused)} of them unused, "
            f"{len(waivers.expired)} ran out"
        )
    for line in told:
        print(f"              {one_line(line)}")
    root, here = one_line(store.name), one_line(str(store.root))
    print(f"Receipts in {root}/receipts, tables in {root}/tables, SQL in {here}/verification.duckdb")
