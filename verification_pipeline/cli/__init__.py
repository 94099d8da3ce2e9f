"""The command `verification-pipeline`. Parses options, starts a night, prints; every judgement is elsewhere.

One module a kind of command; this one lists them all and turns the package's errors into one line and an exit status:
0 done; 1 with --gate when a document failed or was not verified; 2 bad usage or input, with one line on standard error;
3 incomplete (pending answers, or another run holds the store). Dagster is imported only by `run`.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from verification_pipeline import __version__
from verification_pipeline.cli.asking import changes, findings, show, sql, verify_receipt
from verification_pipeline.cli.nights import run
from verification_pipeline.cli.operating import doctor, prune, reshard
from verification_pipeline.cli.output import say_aside
from verification_pipeline.cli.sweeping import sweep
from verification_pipeline.errors import PipelineError, StoreBusy, WorkerLost

app = typer.Typer(
    name="verification-pipeline",
    help="Re-verify archives of cited documents, citation by citation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (run, sweep, sql, changes, findings, verify_receipt, show, doctor, prune, reshard):
    app.command(command.__name__.replace("_", "-"))(command)


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
    say_aside([str(error)])
    sys.exit(status)


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
