"""Input files on disk and the raw entries in them: rows of JSONL and Parquet, bodies. What they mean is a format's."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

import orjson
import pyarrow.parquet as pq

from verification_pipeline.corpus import bodies

DOCUMENT_SUFFIXES = (".md", ".txt", ".html", ".htm")
SOURCE_SUFFIXES = (*DOCUMENT_SUFFIXES, ".pdf")
ROW_SUFFIXES = (".jsonl", ".ndjson", ".parquet")
_HTML = (".html", ".htm")
_HEAD_BYTES = 1 << 18
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input file: where it is, what its format takes it for, and what tells whether it changed."""

    relative: str
    """Its path below the corpus, as text (`name_of`)."""
    path: Path
    kind: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One entry of an input file. `payload` is a row's JSON; None when the whole file (`path`) is the entry."""

    corpus: str
    format: str
    kind: str
    file: str
    line: int | None
    path: str
    payload: bytes | None
    start: int | None = None
    """First byte of the row in its file; None where the payload is no stretch of it."""
    length: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an input file: number from 1, JSON (None where it is over the limit), and the bytes it stands in."""

    number: int
    payload: bytes | None
    start: int | None = None
    length: int = 0


def input_files_of(root: Path, paths: Iterable[Path], kind: str) -> Iterator[InputFile]:
    """Files as inputs of the corpus in `root`; one that is gone since its folder was listed is none."""
    for path in paths:
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        yield InputFile(name_of(path.relative_to(root)), path, kind, stat.st_size, stat.st_mtime_ns)


def name_of(path: PurePath) -> str:
    """A path as text: bytes of a name that are no UTF-8 (Linux allows any) are written as in `caf\\xe9.md`."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def walk(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Files below a folder with one of the suffixes, hidden ones left out, in a fixed order."""
    found = (p for p in folder.rglob("*") if p.suffix.lower() in suffixes and p.is_file())
    visible = (p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))
    return sorted(visible, key=lambda p: p.relative_to(folder).as_posix())


def file_id(relative: str, folder: str) -> str:
    """Id of a document or source that is a file: its path below `folder`, without suffix."""
    return bodies.tidy(PurePosixPath(relative).relative_to(folder).with_suffix("").as_posix())


def rows(path: Path, limit: int) -> Iterator[Row]:
    """The rows of a JSONL or Parquet file; a line may have at most `limit` bytes. OSError, ArrowException."""
    return _parquet_rows(path) if path.suffix == ".parquet" else _lines(path, limit)


def _lines(path: Path, limit: int) -> Iterator[Row]:
    """Lines by LF only: U+2028 is no line end."""
    with path.open("rb") as file:
        number = start = 0
        while line := file.readline(limit + 1):
            number += 1
            if len(line) <= limit or line.endswith(b"\n"):
                kept = line.removeprefix(_BOM) if number == 1 else line
                yield Row(number, kept, start + len(line) - len(kept), len(kept))
                start += len(line)
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(io.DEFAULT_BUFFER_SIZE)
            yield Row(number, None)
            start = file.tell()


def _parquet_rows(path: Path) -> Iterator[Row]:
    number = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                number += 1
                yield Row(number, orjson.dumps(row, default=str))


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a body file, or why there is none. `status` is ok, unreadable or too-large."""

    text: str | None
    status: str = "ok"
    reason: str | None = None
    guessed_encoding: str | None = None


def read_body(path: Path, limit: int, *, whole_page: bool) -> Body:
    """Read a body of at most `limit` bytes. Of an HTML page all is kept (`whole_page`) or the article."""
    try:
        size = path.stat().st_size
        if size > limit:
            return Body(None, "too-large", f"file of {size} bytes is over the limit of {limit}")
        content = path.read_bytes()
        if path.suffix.lower() == ".pdf":
            return Body(bodies.text_from_pdf(content))
        text, guessed = bodies.decode(content)
        if path.suffix.lower() in _HTML:
            text = bodies.document_from_html(text) if whole_page else bodies.source_from_html(text)
        return Body(text, guessed_encoding=guessed)
    except bodies.UnreadableBody as error:
        return Body(None, "unreadable", str(error))
    except OSError as error:
        return Body(None, "unreadable", f"cannot be read: {error.strerror}")


def head_of(path: Path) -> str:
    """The beginning of a text file, for its front matter; empty when it has none that can be read."""
    if path.suffix.lower() == ".pdf":
        return ""
    try:
        with path.open("rb") as file:
            raw = file.read(_HEAD_BYTES)
        text, _ = bodies.decode(raw if len(raw) < _HEAD_BYTES else raw.rpartition(b"\n")[0])
    except (OSError, bodies.UnreadableBody):
        return ""
    return text
