"""What a corpus on disk is: its name, its format, its own settings. Reads directory listings and `corpus.toml` only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from verification_pipeline.config import Settings, read_toml
from verification_pipeline.corpus import bundle, folder, vault
from verification_pipeline.corpus.entries import Parsed
from verification_pipeline.corpus.files import ROW_SUFFIXES, InputFile, RawEntry, name_of
from verification_pipeline.errors import UsageError

FORMATS: dict[str, ModuleType] = {"vault": vault, "folder": folder, "bundle": bundle}
"""Each module has `recognises`, `input_files`, `owner_of` and `parse`; the first that recognises a path reads it."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One corpus: name, place, format and its own settings (`corpus.toml`; empty when there is none)."""

    name: str
    path: Path
    format: str
    settings: dict[str, Any]

    def files(self) -> Iterator[InputFile]:
        """The corpus's input files, in a fixed order."""
        yield from FORMATS[self.format].input_files(self.path)

    def resolve(self, value: Path) -> Path:
        """A path from `corpus.toml`: relative ones are relative to the corpus."""
        base = self.path if self.path.is_dir() else self.path.parent
        return value if value.is_absolute() else base / value


def open_archive(path: Path) -> Archive:
    """Tell which format `path` is. UsageError says what is missing."""
    if not path.exists():
        raise UsageError(f"{path} does not exist: name a folder, a vault, or a .jsonl/.parquet bundle")
    for name, module in FORMATS.items():
        if module.recognises(path):
            own = path / "corpus.toml"
            settings = read_toml(own) if path.is_dir() and own.is_file() else {}
            called = Path(path.resolve().name if path.is_dir() else path.stem)
            return Archive(name_of(called), path, name, settings)
    if path.is_file():
        raise UsageError(f"{path} is no bundle: a bundle is a file with one document a row ({', '.join(ROW_SUFFIXES)})")
    raise UsageError(
        f"{path} holds neither documents/ (a folder corpus) nor research/notes/ (a vault): "
        "put the documents into documents/ and their sources into sources.jsonl or sources/"
    )


def owner_of(raw: RawEntry) -> str:
    """Key that decides the shard of an entry: its document's, or a shared source's own."""
    return str(FORMATS[raw.format].owner_of(raw))


def parse(raw: RawEntry, settings: Settings) -> Parsed:
    """Parse one entry; never raises for what the entry holds."""
    parsed = Parsed(raw, settings)
    FORMATS[raw.format].parse(parsed)
    return parsed
