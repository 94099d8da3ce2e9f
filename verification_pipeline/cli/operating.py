"""Commands that keep a store fit: `doctor`, `prune`, `reshard`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from verification_pipeline.cli.options import DEFAULT_OUT, Config, Json, Out, day_of, place, stored
from verification_pipeline.cli.output import one_line, print_json, progress_bars


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

    found = list(examine(place(out), settings_of.read_toml(config) if config else {}, online=online))
    if as_json:
        print_json(json.dumps([asdict(one) for one in found], ensure_ascii=False) + "\n")
    else:
        width = max(len(one.subject) for one in found)
        for one in found:
            print(f"{one.outcome:<8}{one.subject:<{width}}  {one_line(one.found)}")
            if one.advice is not None:
                print(f"{'':8}{'':{width}}  -> {one_line(one.advice)}")
    if any(one.outcome == "failed" for one in found):
        raise typer.Exit(1)


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

    day = None if before is None else day_of("--before", before)
    done = pruned(stored(out), keep_nights=keep_nights, before=day, dry_run=dry_run)
    if as_json:
        print_json(json.dumps(asdict(done), default=str) + "\n")
    elif done.before is None:
        print("No night was finished yet: nothing goes.")
    else:
        rows = ", ".join(f"{count} {name}" for name, count in done.rows.items())
        print(
            f"{'Would let go' if dry_run else 'Let go'} of nights before {done.before}: rows {rows}; "
            f"{done.files} files; {done.bytes} bytes of receipts, texts and files."
        )


def reshard(
    shards: Annotated[int, typer.Option("--shards", help="Document shards that the store is to have.")],
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """Rewrite a store to another number of document shards; nothing is read or checked again."""
    from dataclasses import asdict

    from verification_pipeline.operations.resharding import reshard as rewritten

    with progress_bars(as_json) as progress:
        done = rewritten(stored(out), shards, progress)
    if as_json:
        print_json(json.dumps(asdict(done)) + "\n")
    elif done.shards == done.shards_before:
        print(f"The store has {shards} shards already.")
    else:
        print(f"Moved {done.rows} rows and {done.texts} texts from {done.shards_before} shards to {done.shards}.")
