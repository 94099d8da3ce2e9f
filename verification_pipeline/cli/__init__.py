"""The command `verification-pipeline`. Parses options, starts a night, prints; every judgement is elsewhere.

One module a kind of command; this one lists them all and turns errors into one line and an exit status: 0 done; 1 what
was asked about is not well (`run --gate`, `doctor`, `verify-receipt`); 2 bad usage or input, with one line on standard
error; 3 incomplete (pending answers, another run holds the store, a register was down); 70 a fault of this package,
with its traceback; 130 interrupted. Dagster is imported only by `run`.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from verification_pipeline import __version__, cycles
from verification_pipeline.cli.asking import changes, findings, show, sql, verify_receipt
from verification_pipeline.cli.nights import run
from verification_pipeline.cli.operating import doctor, prune, reshard
from verification_pipeline.cli.output import say_aside
from verification_pipeline.cli.sweeping import sweep
from verification_pipeline.errors import PipelineError, StoreBusy, WorkerLost

_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_FAULT = 70  # EX_SOFTWARE: whoever waits for a verdict must not take it for one

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
    cycles.look_seldom()
    try:
        status = app(standalone_mode=False)
    except typer.TyperException as error:
        _refuse(error)
    except (StoreBusy, WorkerLost) as error:
        _fail(error, 3)
    except PipelineError as error:
        _fail(error, 2)
    except MemoryError:
        _fail(PipelineError("not enough memory; what was stored is sound: run again, with fewer --workers"), 3)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        _fail(
            PipelineError(
                f"{error.filename or 'a file'}: {error.strerror or error}; what was stored is sound, run again"
            ),
            2,
        )
    except Exception:
        traceback.print_exc()
        sys.exit(_FAULT)
    else:
        if status == _INTERRUPTED:
            say_aside(["interrupted; what was stored is sound, and the same command goes on from there"])
        sys.exit(status or 0)


def _fail(error: PipelineError, status: int) -> NoReturn:
    say_aside([str(error)])
    sys.exit(status)


def _refuse(error: typer.TyperException) -> NoReturn:
    """A command line that cannot be read: one line that names the command whose --help says more. None: its help."""
    context = getattr(error, "ctx", None)
    if context is None or not sys.argv[1:]:
        print(error.format_message(), file=sys.stderr)
    else:
        say_aside([f"{error.format_message()} (see {context.command_path} --help)"])
    sys.exit(2)


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
