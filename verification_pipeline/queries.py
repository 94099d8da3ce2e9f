"""The one loader of `sql/`: statements by name, with what their header says.

A query is one file with one statement: `views/<name>.sql` (views of the DuckDB file) or `analyses/<name>.sql`
(questions, with named parameters; table functions of that file). The header comment says grain, key, who asks, and what
each column says, in its own words or `as in` a registered table or a view:

    -- columns:
    --   corpus, document_id: as in documents
    --   share: Of the corpus's pairs.

In a checkout the files lie in `sql/` beside the package, in a wheel inside it. The only SQL elsewhere is what
`duckdb_file` makes from the registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from verification_pipeline import shipped
from verification_pipeline.errors import UsageError
from verification_pipeline.tables import TABLES

_HEADER = re.compile(r"^-- (grain|key|asks|params|says): (.+)$")
_REQUIRED = ("says", "grain", "key", "asks", "columns")
_COLUMN = re.compile(r"^--   ([\w, ]+): (.+)$")
_ELSEWHERE = re.compile(r"^as in (\w+)$")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and its header: what it says, its grain and key, who asks, and its parameters with an example."""

    name: str
    sql: str
    says: str
    grain: str
    key: str
    asks: str
    columns: Mapping[str, str]
    """Name → what it says, in the order of the statement."""
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
    header: dict[str, Any] = {match[1]: match[2].strip() for line in sql.splitlines() if (match := _HEADER.match(line))}
    header |= {"columns": columns} if (columns := dict(_columns(name, sql))) else {}
    missing = [field for field in _REQUIRED if field not in header]
    if missing:
        raise UsageError(f"query {name}: its header lacks {', '.join(missing)}")
    return Query(name, sql, **header)


def _columns(name: str, sql: str) -> Iterator[tuple[str, str]]:
    for match in filter(None, map(_COLUMN.match, sql.splitlines())):
        elsewhere = _ELSEWHERE.match(match[2])
        known = _words_of(elsewhere[1]) if elsewhere else {}
        for column in (one.strip() for one in match[1].split(",")):
            words = known.get(column) if elsewhere else match[2]
            if words is None:
                raise UsageError(f"query {name}: its header says that {column} is {match[2]}, which has no such column")
            yield column, words


def _words_of(name: str) -> Mapping[str, str]:
    """What the columns of a registered table, else of a view, say."""
    table = TABLES.get(name)
    return {column.name: column.doc for column in table.columns} if table else query(f"views/{name}").columns


def views() -> tuple[Query, ...]:
    """The views of the DuckDB file."""
    return tuple(query(name) for name in names() if name.startswith("views/"))


def analyses() -> tuple[Query, ...]:
    """The questions, which the DuckDB file holds as table functions of their parameters."""
    return tuple(query(name) for name in names() if name.startswith("analyses/"))
