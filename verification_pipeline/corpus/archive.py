"""What a corpus on disk is, and which input files it holds. Reads directory listings only, never a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from verification_pipeline.config import read_toml
from verification_pipeline.errors import UsageError

BodyKind = Literal["document-file", "source-file", "source-rows", "bundle-rows", "note-file"]

DOCUMENT_SUFFIXES = (".md", ".txt", ".html", ".htm")
SOURCE_SUFFIXES = (*DOCUMENT_SUFFIXES, ".pdf")
ROW_SUFFIXES = (".jsonl", ".ndjson", ".parquet")
_NOTES = Path("research", "notes")


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input file: where it is, what it holds, and what tells whether it changed."""

    relative: str
    path: Path
    kind: BodyKind
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Archive:
    """One corpus: name, place, format and its own settings (`corpus.toml`; empty when there is none)."""

    name: str
    path: Path
    format: Literal["folder", "bundle", "vault"]
    settings: dict[str, Any]

    def files(self) -> Iterator[InputFile]:
        """The corpus's input files, in a fixed order."""
        if self.format == "bundle":
            yield _input_file(self.path.parent, self.path, "bundle-rows")
            return
        if self.format == "vault":
            for path in _walk(self.path / _NOTES, (".md",)):
                yield _input_file(self.path, path, "document-file" if is_report(path) else "note-file")
            return
        for path in _walk(self.path / "documents", DOCUMENT_SUFFIXES):
            yield _input_file(self.path, path, "document-file")
        for suffix in ROW_SUFFIXES:
            rows = self.path / f"sources{suffix}"
            if rows.is_file():
                yield _input_file(self.path, rows, "source-rows")
        for path in _walk(self.path / "sources", SOURCE_SUFFIXES):
            yield _input_file(self.path, path, "source-file")

    def resolve(self, value: Path) -> Path:
        """A path from `corpus.toml`: relative ones are relative to the corpus."""
        base = self.path.parent if self.format == "bundle" else self.path
        return value if value.is_absolute() else base / value


def open_archive(path: Path) -> Archive:
    """Tell which format `path` is. UsageError says what is missing."""
    name = path.resolve().name
    if path.is_file():
        if path.suffix not in ROW_SUFFIXES:
            raise UsageError(f"{path} is no bundle: a bundle is a .jsonl or .parquet file with one document a row")
        return Archive(path.stem, path, "bundle", {})
    if not path.is_dir():
        raise UsageError(f"{path} does not exist: name a folder, a vault, or a .jsonl/.parquet bundle")
    settings = read_toml(path / "corpus.toml") if (path / "corpus.toml").is_file() else {}
    if (path / _NOTES).is_dir():
        return Archive(name, path, "vault", settings)
    if (path / "documents").is_dir():
        return Archive(name, path, "folder", settings)
    raise UsageError(
        f"{path} holds neither documents/ (a folder corpus) nor research/notes/ (a vault): "
        "put the documents into documents/ and their sources into sources.jsonl or sources/"
    )


def is_report(path: Path) -> bool:
    """Whether a vault's note is a final report, hence a document (Hyperresearch names them `final_report*.md`)."""
    return path.stem.startswith("final_report")


def _walk(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    found = (p for p in folder.rglob("*") if p.suffix.lower() in suffixes and not _hidden(p, folder) and p.is_file())
    return sorted(found, key=lambda p: p.relative_to(folder).as_posix())


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _input_file(root: Path, path: Path, kind: BodyKind) -> InputFile:
    stat = path.stat()
    return InputFile(path.relative_to(root).as_posix(), path, kind, stat.st_size, stat.st_mtime_ns)
