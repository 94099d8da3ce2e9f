"""The one loader of `sql/`: statements by name, with what their header says.

A query is one file with one statement: `views/<name>.sql` (views of the DuckDB file) or `analyses/<name>.sql`
(questions, with named parameters; table functions of that file). The header comment says grain, key and who asks. In a
checkout the files lie in `sql/` beside the package, in a wheel inside it. The only SQL elsewhere is what `duckdb_file`
makes from the registry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from verification_pipeline import shipped
from verification_pipeline.errors import UsageError

_HEADER = re.compile(r"^-- (grain|key|asks|params|says): (.+)$")
_REQUIRED = ("says", "grain", "key", "asks")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and its header: what it says, its grain and key, who asks, and its parameters with an example."""

    name: str
    sql: str
    says: str
    grain: str
    key: str
    asks: str
    params: str | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its parameters, in the order of the header."""
        return tuple(part.partition("=")[0].strip() for part in (self.params or "").split(",") if part.strip())


@cache
def names() -> tuple[str, ...]:
    """Names of all queries (`views/coverage`, `analyses/…`), sorted."""
    root = shipped.folder("sql")
    return tuple(sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.sql")))


def load(name: str) -> str:
    """The statement of a query. UsageError names what there is when there is no such query."""
    return query(name).sql


@cache
def query(name: str) -> Query:
    """A query with its header. UsageError when it is unknown or its header is incomplete."""
    if name not in names():
        raise UsageError(f"no query {name!r}; there are {', '.join(names())}")
    sql = (shipped.folder("sql") / f"{name}.sql").read_text("utf-8")
    header = {match[1]: match[2].strip() for line in sql.splitlines() if (match := _HEADER.match(line))}
    missing = [field for field in _REQUIRED if field not in header]
    if missing:
        raise UsageError(f"query {name}: its header lacks {', '.join(missing)}")
    return Query(name, sql, **header)


def views() -> tuple[Query, ...]:
    """The views of the DuckDB file."""
    return tuple(query(name) for name in names() if name.startswith("views/"))


def analyses() -> tuple[Query, ...]:
    """The questions, which the DuckDB file holds as table functions of their parameters."""
    return tuple(query(name) for name in names() if name.startswith("analyses/"))
