"""Options that several commands take, and what they mean: the store, a settings file, days.

Belongs here: from the words of a command line to the objects of the package. Does not belong here: options of one
command alone (beside it), settings (`config`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verification_pipeline.errors import UsageError

if TYPE_CHECKING:
    from datetime import date

    from verification_pipeline.bucket import Bucket
    from verification_pipeline.store import Store

Out = Annotated[str, typer.Option("--out", help="Folder of the store, or an address such as s3://bucket/prefix.")]
Config = Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).", dir_okay=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

DEFAULT_OUT = "out/nightly"


def place(out: str) -> Path | Bucket:
    """What --out names; VERIFICATION_LOCAL says where copies of an object store's files lie."""
    if not out:
        raise UsageError("--out is empty: name a folder, or an address such as s3://bucket/prefix")
    if "://" not in out:
        return Path(out)
    from verification_pipeline.bucket import place_of

    return place_of(out, os.environ.get("VERIFICATION_LOCAL"))


def stored(out: str) -> Store:
    """The store that --out names. StoreError: there is none."""
    from verification_pipeline.store import Store

    return Store.open(place(out), create=False)


def opened(out: str) -> Store:
    """The store that --out names, made where there is none."""
    from verification_pipeline.store import Store

    return Store.open(place(out))


def day_of(option: str, value: str) -> date:
    """The day an option says. UsageError: it is no ISO day."""
    from datetime import date

    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(f"{option} {value!r} is no ISO day such as 2026-11-30") from None
