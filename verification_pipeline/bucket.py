"""A store on an object store (`s3://…`, and whatever else `obstore` opens): its files, and the lease that locks it.

The objects are the truth. A local folder holds copies of those that were needed here, each known by its ETag
(`.objects.sqlite`), so that libraries read plain files and a night on the same machine downloads only what another
machine wrote. A file is put first and then takes its place in the folder: a machine that dies between the two has an
old copy, and fetches. What only this machine needs (the DuckDB file, the ledger, staging) never leaves the folder.

Only the holder of the lease writes: one process, or the processes of one run, on several machines maybe, that name the
same run. A reader looks at the objects as they are when it opens the store.

What keeps a process out that was taken for dead and is not: it looks at the lease it knows of before each put, and
a put replaces the version that it knew or fails. A put that was under way when the lease ran out can still land, on an
object that the next run has not written yet; that run then finds another version than it knew and stops. Objects over
`_WHOLE_BYTES` are put in parts, without that condition; so large are texts, whose names are those of their content, and
tables of very large shards.
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
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import from_url

from verification_pipeline.errors import StoreBusy, StoreError

_LEASE = "lease.json"
_WHOLE_BYTES = 64 * 1024 * 1024
"""Up to here an object is put in one request, which alone can have a condition; it is held in memory meanwhile."""
_CONFLICTS = (AlreadyExistsError, PreconditionError, FileNotFoundError)
"""What a put on condition raises when the object is not as it was."""
_FORGET_SECONDS = 86_400.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (  -- etag: of the object; here, size, modified_ns: of the copy in the folder
    name TEXT PRIMARY KEY, etag TEXT NOT NULL, here TEXT, size INTEGER, modified_ns INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS touched (  -- objects put or removed from here, numbered in that order: ahead of a listing
    name TEXT PRIMARY KEY, number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (  -- until when a run may write from here, in seconds since the epoch
    run TEXT PRIMARY KEY, until REAL NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The objects below an address, and the folder that holds copies of them on this machine."""

    url: str
    folder: Path
    lease_seconds: float = 120.0
    """A run that dies leaves its lease for so long. Clocks of the machines that write must agree far better."""
    run: str = ""
    """The run in whose name this process holds the lease; without one it may write only a store's first objects."""

    # ---- the copies

    def refresh(self) -> None:
        """Learn which objects there are; copies of those that are gone are removed, of others kept or fetched anew.

        What another process put or removed from here since the listing began is known better than the listing knows it.
        """
        [(before,)] = _record(self.folder).rows("SELECT coalesce(max(number), 0) FROM touched")
        with self._told("read"):
            listed = self._listed()
        with _record(self.folder).transaction() as db:
            since = {name for (name,) in db.execute("SELECT name FROM touched WHERE number > ?", (before,))}
            known = {name for (name,) in db.execute("SELECT name FROM objects")}
            gone = known - listed.keys() - since
            for name in gone:
                (self.folder / name).unlink(missing_ok=True)
            db.executemany("DELETE FROM objects WHERE name = ?", [(name,) for name in gone])
            upsert = "INSERT INTO objects (name, etag) VALUES (?, ?) ON CONFLICT DO UPDATE SET etag = excluded.etag"
            db.executemany(upsert, [(name, tag) for name, tag in listed.items() if name not in since])

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
        temporary = self.folder / ".fetch" / secrets.token_hex(8)
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
        """Put a finished temporary file as the object of a path, and give it its name here.

        StoreBusy: the lease has run out, or the object is not the version that is known here.
        """
        self._may_write()
        name = self._name(path)
        with self._told("written"):
            tag = self._put(temporary, name)
        with _record(self.folder).transaction() as db:
            temporary.replace(path)
            _enter(db, name, tag, path)
            _touch(db, name)

    def _put(self, temporary: Path, name: str) -> str:
        if temporary.stat().st_size > _WHOLE_BYTES:
            return str(obstore.put(_client(self.url), name, temporary)["e_tag"])
        known = _record(self.folder).rows("SELECT etag FROM objects WHERE name = ?", name)
        mode: Any = {"e_tag": known[0][0]} if known else "create"
        try:
            return str(obstore.put(_client(self.url), name, temporary, mode=mode, use_multipart=False)["e_tag"])
        except _CONFLICTS:
            tag = self._tag_of_same(temporary, name)  # a put whose answer was lost, or another's with this content
            if tag is None:
                raise StoreBusy(
                    f"{self.url}/{name} was written by another process since this one looked; run again"
                ) from None
            return tag

    def _tag_of_same(self, temporary: Path, name: str) -> str | None:
        """The ETag of an object that has the bytes of a file; None when it has others, or is not there."""
        try:
            found = obstore.get(_client(self.url), name)
        except FileNotFoundError:
            return None
        same = found.meta["size"] == temporary.stat().st_size and bytes(found.bytes()) == temporary.read_bytes()
        return str(found.meta["e_tag"]) if same else None

    def remove(self, path: Path) -> None:
        """Remove an object and its copy. StoreBusy: the lease has run out."""
        self._may_write()
        with self._told("written"):
            obstore.delete(_client(self.url), self._name(path))
        with _record(self.folder).transaction() as db:
            db.execute("DELETE FROM objects WHERE name = ?", (self._name(path),))
            _touch(db, self._name(path))
            path.unlink(missing_ok=True)

    def _may_write(self) -> None:
        if not self.run:
            return
        for (until,) in _record(self.folder).rows("SELECT until FROM leases WHERE run = ?", self.run):
            if time.time() < until:
                return
        raise StoreBusy(f"the lease of {self.url} has run out or was lost to another run; run again")

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
    def leased(self, run: str | None = None) -> Iterator[tuple[Bucket, bool]]:
        """Hold the lease, renewed until the end; gives the bucket to write to, and whether the lease was held before.

        A named `run` shares it among its processes: whoever names it enters at once, and when one leaves the lease
        lasts once more its length, for the next to come; `free` ends it. StoreBusy: another run holds it, or took it
        when ours had run out.
        """
        lease = _Held(self, run)
        joined = lease.take()
        try:
            self.refresh()
            yield replace(self, run=lease.run), joined
        except KeyboardInterrupt:
            if lease.lost:
                raise StoreBusy(f"the lease of {self.url} was lost to another run; this one has stopped") from None
            raise
        finally:
            lease.leave(lasting=run is not None)

    def free(self, run: str) -> None:
        """Leave the lease of a run free, if it is still that run's."""
        found = self._lease()
        if found is not None and found[0].get("run") == run:
            try:
                self.put_lease(run, str(found[0]["holder"]), 0.0, found[1])
            except (BaseError, OSError):
                return  # it runs out by itself

    def _lease(self) -> tuple[dict[str, Any], str] | None:
        try:
            with self._told("read"):
                found = obstore.get(_client(self.url), _LEASE)
                return json.loads(bytes(found.bytes())), str(found.meta["e_tag"])
        except FileNotFoundError:
            return None

    def put_lease(self, run: str, holder: str, until: float, before: str | None) -> str:
        """Write the lease if it is still the one with ETag `before` (None: if there is none); its new ETag."""
        body = json.dumps({"holder": holder, "run": run, "until": until, "token": secrets.token_hex(8)}).encode()
        mode: Any = "create" if before is None else {"e_tag": before}
        return str(obstore.put(_client(self.url), _LEASE, body, mode=mode, use_multipart=False)["e_tag"])


class _Held:
    """A lease that this process holds: a thread renews it three times in its length.

    Processes of one run renew one lease: a put that fails because another of them was faster is as good as done.
    """

    def __init__(self, bucket: Bucket, run: str | None) -> None:
        self.lost = False
        self.run = run or secrets.token_hex(16)
        self._bucket = bucket
        self._holder = f"process {os.getpid()} on {socket.gethostname()}"
        if run:
            self._holder = f"run {run}, seen in {self._holder}"
        self._tag: str | None = None
        self._until = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def take(self) -> bool:
        """Take a lease that is free or ran out (False), or enter one of the same run (True).

        StoreBusy when another run holds it, or was faster.
        """
        bucket = self._bucket
        joined = self._look()
        try:
            while not self._extend():
                joined = True
                if self._until > time.time():
                    break
        except _CONFLICTS:
            raise StoreBusy(f"another run has just taken {bucket.url}; wait for it to end") from None
        except (BaseError, OSError, ValueError) as error:
            raise StoreError(f"{bucket.url} cannot be written: {str(error).splitlines()[0]}") from error
        self._thread.start()
        return joined

    def _look(self) -> bool:
        """Learn of the lease; whether it is that of our run. StoreBusy: another's, which has not run out."""
        found = self._bucket._lease()
        if found is None:
            return False
        lease, self._tag = found
        if lease.get("run") == self.run:
            return True
        if lease["until"] > time.time():
            raise StoreBusy(f"another run holds {self._bucket.url} ({lease['holder']}); wait for it to end")
        return False

    def leave(self, *, lasting: bool) -> None:
        """Stop renewing; the lease, if it is still ours, is left free or, `lasting`, to the run's other processes."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.lost:
            return
        try:
            if lasting:
                self._extend()
            else:
                self._bucket.put_lease(self.run, self._holder, 0.0, self._tag)
        except (BaseError, OSError, StoreError):
            return  # it runs out by itself

    def _extend(self) -> bool:
        """Put the lease anew; False when another process of the run did meanwhile. Conflicts: another run did."""
        until = time.time() + self._bucket.lease_seconds
        try:
            self._tag = self._bucket.put_lease(self.run, self._holder, until, self._tag)
            own = True
        except _CONFLICTS:
            found = self._bucket._lease()
            if found is None or found[0].get("run") != self.run:
                raise
            lease, self._tag = found
            until = float(lease["until"])
            own = False
        self._until = until
        _remember_lease(self._bucket.folder, self.run, until)
        return own

    def _renew(self) -> None:
        while not self._over.wait(self._bucket.lease_seconds / 3):
            try:
                self._extend()
            except _CONFLICTS:
                self._lose()
                return
            except (BaseError, OSError, StoreError):
                if time.time() > self._until:  # nobody could be reached for as long as it lasted
                    self._lose()
                    return

    def _lose(self) -> None:
        self.lost = True
        _forget_lease(self._bucket.folder, self.run)
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
        self._db.executescript(_SCHEMA)

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


def _touch(db: sqlite3.Connection, name: str) -> None:
    db.execute("INSERT OR REPLACE INTO touched SELECT ?, coalesce(max(number), 0) + 1 FROM touched", (name,))


def _remember_lease(folder: Path, run: str, until: float) -> None:
    """Until when a run may write from a folder; what is said of runs that are long over is let go."""
    latest = "INSERT INTO leases VALUES (?, ?) ON CONFLICT DO UPDATE SET until = max(until, excluded.until)"
    with _record(folder).transaction() as db:
        db.execute("DELETE FROM leases WHERE until < ?", (time.time() - _FORGET_SECONDS,))
        db.execute(latest, (run, until))


def _forget_lease(folder: Path, run: str) -> None:
    """A run may write from a folder no more."""
    with _record(folder).transaction() as db:
        db.execute("DELETE FROM leases WHERE run = ?", (run,))


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
