from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.support.questions import PARAMETERS, answer, nights_archive
from verification_pipeline import duckdb_file, queries
from verification_pipeline.errors import UsageError

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("nights")
    duckdb_file.build(nights_archive().write(folder / "tables"), folder / "v.duckdb")
    with duckdb.connect(str(folder / "v.duckdb"), read_only=True) as opened:
        yield opened


@pytest.mark.parametrize("name", queries.names())
def test_answers_are_those_on_record(connection: duckdb.DuckDBPyConnection, name: str):
    """Golden files; written anew by tests/support/regold.py after a change that is meant."""
    made = answer(connection, name, PARAMETERS.get(name, {}))
    assert made == (GOLDEN / f"{name}.json").read_text("utf-8")


@pytest.mark.parametrize("name", queries.names())
def test_every_query_is_one_statement_with_a_whole_header_and_a_true_key(
    connection: duckdb.DuckDBPyConnection, name: str
):
    query = queries.query(name)
    statements = duckdb.extract_statements(query.sql)
    assert len(statements) == 1
    assert statements[0].type == duckdb.StatementType.SELECT
    assert statements[0].named_parameters == set(PARAMETERS.get(name, {}))
    assert set(query.parameters) == set(PARAMETERS.get(name, {}))
    keys = ", ".join(duckdb_file.quoted(k.strip()) for k in query.key.split(","))
    doubled = connection.sql(
        f"SELECT {keys} FROM ({query.sql}) GROUP BY {keys} HAVING count(*) > 1", params=PARAMETERS.get(name) or None
    )
    assert doubled.fetchall() == []


@pytest.mark.parametrize("query", queries.analyses(), ids=lambda query: query.name)
def test_a_question_is_a_table_function_of_the_file(connection: duckdb.DuckDBPyConnection, query: queries.Query):
    given = PARAMETERS.get(query.name, {})
    values = [str(given[name]) if isinstance(given[name], dt.date) else given[name] for name in query.parameters]
    name, places = query.name.removeprefix("analyses/"), ", ".join("?" * len(values))
    asked = connection.sql(f"FROM {name}({places})", params=values).fetchall()
    assert asked == connection.sql(query.sql, params=given or None).fetchall()


def test_golden_files_without_a_query_are_not_kept():
    kept = {path.relative_to(GOLDEN).with_suffix("").as_posix() for path in GOLDEN.rglob("*.json")}
    assert kept == set(queries.names())


def test_an_unknown_query_names_those_there_are():
    with pytest.raises(UsageError, match="views/coverage"):
        queries.load("views/nothing")
