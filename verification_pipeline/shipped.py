"""Where the files lie that ship beside the code: `sql/` and `data/`, in a wheel inside the package."""

from __future__ import annotations

from pathlib import Path


def folder(name: str) -> Path:
    """A shipped folder: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_shipped" / name
    return installed if installed.is_dir() else package.parent / name
