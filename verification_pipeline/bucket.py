"""A store on an object store (`s3://…`, and whatever else `obstore` opens): its files, and the lease that locks it.

The objects are the truth. A local folder holds copies of those that were needed here, each known by its ETag
(`.objects.sqlite`), so that libraries read plain files and a night on the same machine downloads only what another
machine wrote. A file is put first and then takes its place in the folder: a machine that dies between the two has an
old copy, and fetches. What only this machine needs (the DuckDB file, the ledger, staging) never leaves the folder.

Only the holder of the lease writes. A reader looks at the objects as they are when it opens the store.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import obstore
from filelock import FileLock, Timeout
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import from_url

from verification_pipeline.errors import StoreBusy, StoreError

_LEASE = "lease.json"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (  -- etag: of the object; here, size, modified_ns: of the copy in the folder
    name TEXT PRIMARY KEY, etag TEXT NOT NULL, here TEXT, size INTEGER, modified_ns INTEGER
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The objects below an address, and the folder that holds copies of them on this machine."""

    url: str
    folder: Path
    lease_seconds: float = 120.0
    """A run that dies leaves its lease for so long. Clocks of the machines that write must agree far better."""

    # ---- the copies

    def refresh(self) -> None:
        """Learn which objects there are; copies of those that are gone are removed, of others kept or fetched anew.

        While a run on this machine holds the store nothing is asked: the folder is then ahead of any listing.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                self._refresh()
        except Timeout:
            return

    def _refresh(self) -> None:
        with self._told("read"):
            listed = self._listed()
        with _record(self.folder).transaction() as db:
            known = {name for (name,) in db.execute("SELECT name FROM objects")}
            gone = known - listed.keys()
            for name in gone:
                (self.folder / name).unlink(missing_ok=True)
            db.executemany("DELETE FROM objects WHERE name = ?", [(name,) for name in gone])
            upsert = "INSERT INTO objects (name, etag) VALUES (?, ?) ON CONFLICT DO UPDATE SET etag = excluded.etag"
            db.executemany(upsert, list(listed.items()))

    def _listed(self) -> dict[str, str]:
        """Name → ETag of every object but the lease."""
        found = {one["path"]: str(one["e_tag"]) for page in obstore.list(_client(self.url)) for one in page}
        found.pop(_LEASE, None)
        return found

    def names(self, prefix: str) -> list[str]:
        """Names of the objects that begin with a prefix, sorted."""
        sql = "SELECT name FROM objects WHERE substr(name, 1, ?) = ? ORDER BY name"
        return [name for (name,) in _record(self.folder).rows(sql, len(prefix), prefix)]

    def exists(self, path: Path) -> bool:
        """Whether there is an object for a path of the folder."""
        return bool(_record(self.folder).rows("SELECT 1 FROM objects WHERE name = ?", self._name(path)))

    def fetch(self, path: Path) -> bool:
        """Have the object of a path in its place; False when there is none."""
        sql = "SELECT etag, here, size, modified_ns FROM objects WHERE name = ?"
        name = self._name(path)
        for tag, here, size, modified in _record(self.folder).rows(sql, name):
            if tag == here and _stamp(path) == (size, modified):
                return True
            return self._download(path, name, tag)
        return False

    def _download(self, path: Path, name: str, tag: str) -> bool:
        temporary = self.folder / ".fetch" / f"{os.getpid()}-{threading.get_ident()}"
        for folder in (temporary.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            with self._told("read"):
                found = obstore.get(_client(self.url), name)
                with temporary.open("wb") as file:
                    for part in found:
                        file.write(part)
        except FileNotFoundError:
            temporary.unlink(missing_ok=True)
            return False
        with _record(self.folder).transaction() as db:
            if db.execute("SELECT etag FROM objects WHERE name = ?", (name,)).fetchone() == (tag,):
                temporary.replace(path)
                _enter(db, name, str(found.meta["e_tag"]), path)
        temporary.unlink(missing_ok=True)
        return path.exists()

    def put(self, temporary: Path, path: Path) -> None:
        """Put a finished temporary file as the object of a path, and give it its name here."""
        with self._told("written"):
            tag = obstore.put(_client(self.url), self._name(path), temporary)["e_tag"]
        with _record(self.folder).transaction() as db:
            temporary.replace(path)
            _enter(db, self._name(path), str(tag), path)

    def remove(self, path: Path) -> None:
        """Remove an object and its copy."""
        with self._told("written"):
            obstore.delete(_client(self.url), self._name(path))
        with _record(self.folder).transaction() as db:
            db.execute("DELETE FROM objects WHERE name = ?", (self._name(path),))
            path.unlink(missing_ok=True)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """What the client raises is one clear StoreError; that an object is not there, FileNotFoundError."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (BaseError, OSError, ValueError) as error:
            why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise StoreError(f"{self.url} cannot be {what}: {why}") from error

    # ---- the lease

    def holder(self) -> str | None:
        """Who holds the lease at this moment; None while nobody does."""
        found = self._lease()
        return None if found is None or found[0]["until"] <= time.time() else str(found[0]["holder"])

    @contextmanager
    def leased(self) -> Iterator[None]:
        """Hold the lease, renewed until the end. StoreBusy: another run holds it, or took it when ours had run out."""
        lease = _Held(self, f"process {os.getpid()} on {socket.gethostname()}")
        lease.take()
        try:
            self._refresh()
            yield
        except KeyboardInterrupt:
            if lease.lost:
                raise StoreBusy(f"the lease of {self.url} was lost to another run; this one has stopped") from None
            raise
        finally:
            lease.give_back()

    def _lease(self) -> tuple[dict[str, Any], str] | None:
        try:
            with self._told("read"):
                found = obstore.get(_client(self.url), _LEASE)
                return json.loads(bytes(found.bytes())), str(found.meta["e_tag"])
        except FileNotFoundError:
            return None

    def put_lease(self, holder: str, until: float, before: str | None) -> str:
        """Write the lease if it is still the one with ETag `before` (None: if there is none); its new ETag."""
        body = json.dumps({"holder": holder, "until": until, "token": secrets.token_hex(8)}).encode()
        mode: Any = "create" if before is None else {"e_tag": before}
        return str(obstore.put(_client(self.url), _LEASE, body, mode=mode, use_multipart=False)["e_tag"])


class _Held:
    """A lease that is held: a thread renews it three times in its length."""

    def __init__(self, bucket: Bucket, holder: str) -> None:
        self.lost = False
        self._bucket = bucket
        self._holder = holder
        self._tag = ""
        self._until = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def take(self) -> None:
        """Take a lease that is free or ran out. StoreBusy when it is not, or when another run was faster."""
        bucket = self._bucket
        found = bucket._lease()
        if found is not None and found[0]["until"] > time.time():
            raise StoreBusy(f"another run holds {bucket.url} ({found[0]['holder']}); wait for it to end")
        try:
            self._put(None if found is None else found[1])
        except (AlreadyExistsError, PreconditionError):
            raise StoreBusy(f"another run has just taken {bucket.url}; wait for it to end") from None
        except (BaseError, OSError, ValueError) as error:
            raise StoreError(f"{bucket.url} cannot be written: {str(error).splitlines()[0]}") from error
        self._thread.start()

    def give_back(self) -> None:
        """Stop renewing and leave the lease free, if it is still ours."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self.lost:
            try:
                self._bucket.put_lease(self._holder, 0.0, self._tag)
            except (BaseError, OSError):
                return  # it runs out by itself

    def _put(self, before: str | None) -> None:
        until = time.time() + self._bucket.lease_seconds
        self._tag = self._bucket.put_lease(self._holder, until, before)
        self._until = until

    def _renew(self) -> None:
        while not self._over.wait(self._bucket.lease_seconds / 3):
            try:
                self._put(self._tag)
            except PreconditionError:
                self._lose()
                return
            except (BaseError, OSError):
                if time.time() > self._until:  # nobody could be reached for as long as it lasted
                    self._lose()
                    return

    def _lose(self) -> None:
        self.lost = True
        os.kill(os.getpid(), signal.SIGINT)


# ---- the record of copies


class _Record:
    """An open record; shared by the threads of a process, and by processes through the file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._guard = threading.RLock()
        self._db = sqlite3.connect(
            folder / ".objects.sqlite", timeout=60, isolation_level=None, check_same_thread=False
        )
        self._db.execute(_SCHEMA)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._guard:
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def _enter(db: sqlite3.Connection, name: str, tag: str, path: Path) -> None:
    db.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", (name, tag, tag, *_stamp(path)))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except FileNotFoundError:
        return -1, -1
    return state.st_size, state.st_mtime_ns


def place_of(out: str, local: str | None = None) -> Path | Bucket:
    """What --out names: a folder, or objects at an address with a local folder for their copies.

    The folder is `local`, else out/<address> below the working directory.
    """
    if "://" not in out:
        return Path(out)
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", out.partition("://")[2]).strip("-.")
    return Bucket(out.rstrip("/"), Path(local) if local else Path("out") / readable)


@cache
def _record(folder: Path) -> _Record:
    return _Record(folder)


@cache
def _client(url: str) -> Any:
    """The client of an address; its credentials are those of the environment, as the object store's tools name them."""
    return from_url(url)
