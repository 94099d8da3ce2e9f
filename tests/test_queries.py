from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.support.archive import Archive
from tests.support.questions import PARAMETERS, answer, nights_archive
from verification_pipeline import duckdb_file, metrics, queries
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
    shown = connection.sql(query.sql, params=PARAMETERS.get(name) or None).columns
    assert list(query.columns) == shown
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


def strata(rng: random.Random) -> list[tuple[str, float | None, str, str | None]]:
    """Pairs of one corpus as (stratum, probability, outcome, verdict), some unread for other reasons than the draw."""
    made: list[tuple[str, float | None, str, str | None]] = []
    for stratum, probability in (("strong", 1.0), ("rest", 0.3), ("none", 0.0)):
        for _ in range(rng.randint(0, 60)):
            if rng.random() >= probability:
                made.append((stratum, probability, "not-selected", None))
            elif rng.random() < 0.1:
                made.append((stratum, probability, "low-confidence", None))
            else:
                verdict = rng.choices(["supported", "unsupported"], [8, 2])[0]
                made.append((stratum, probability, "checked", verdict))
    made += [("", None, "auto-passed", None)] * rng.randint(0, 20)
    made += [("", None, "no-text", None)] * rng.randint(0, 5)
    return made + [("", None, "dangling", None)] * rng.randint(0, 5)


def archive_of(pairs: list[tuple[str, float | None, str, str | None]]) -> Archive:
    archive = Archive()
    text = "".join(f"Line {n} holds [1].\n" for n in range(len(pairs)))
    key = archive.document("d", text, date=dt.date(2026, 3, 4))
    body = "Lines hold."
    source = archive.source(key, "1", body, n=1, url="https://www.lines.example/a", canonical_url="lines.example/a")
    for n, (stratum, probability, outcome, verdict) in enumerate(pairs):
        bare = {"no-text": {"status": "uncheckable", "reason": "no-text"}}.get(outcome, {})
        pair = archive.pair(key, f"Line {n} holds", None if outcome == "dangling" else source, **bare)
        if outcome == "dangling":
            archive.dangling(pair)
        elif outcome == "auto-passed":
            archive.passed(pair, body)
        elif verdict:
            archive.graded(pair, verdict, stratum=stratum, probability=probability)
        else:
            archive.unread(pair, outcome, stratum=stratum, probability=probability)
    return archive


@pytest.mark.parametrize("seed", range(12))
def test_shares_of_views_and_of_metrics_are_one_estimate(tmp_path: Path, seed: int):
    archive = archive_of(strata(random.Random(seed)))
    tallied = metrics.tally(archive.inputs(), archive.frame("receipts"))
    expected = {row["metric"]: row for row in metrics.compute("r", tallied).filter(corpus="notes").to_dicts()}
    share, bounds = expected["unsupported_share"], expected["unsupported_share_bounds"]
    duckdb_file.build(archive.write(tmp_path / "tables"), tmp_path / "v.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as asked:
        for view in ("corpus", "week", "host", "source"):
            row = asked.execute(
                "SELECT failed_share, failed_low, failed_high, failed_least, failed_most, pairs "
                f"FROM verdicts_by_{view} WHERE pairs > 0 ORDER BY pairs DESC LIMIT 1"
            ).fetchone()
            assert row is not None
            right = [share["value"], share["low"], share["high"], bounds["low"], bounds["high"]]
            assert [None if one is None else round(one, 9) for one in row[:5]] == [
                None if one is None else round(one, 9) for one in right
            ]
        assert asked.execute("SELECT host, pairs FROM verdicts_by_host").fetchall()[0][0] == "lines.example"
        week = asked.execute("SELECT week FROM verdicts_by_week").fetchall()
        assert week == [(dt.date(2026, 3, 2),)]


def test_sources_that_fail_most_are_counted_over_the_documents_that_cite_their_page(tmp_path: Path):
    archive = Archive()
    for name in ("a", "b"):
        key = archive.document(name, "Rents rose [1]. Rents fell [2].")
        shared = {"url": "https://rents.example/x?utm=1", "canonical_url": "rents.example/x"}
        source = archive.source(key, "1", "Rents stood still.", n=1, **shared)
        archive.graded(archive.pair(key, "Rents rose", source), "unsupported")
    lone = archive.source(key, "2", "Rents stood.", n=2)
    archive.graded(archive.pair(key, "Rents fell", lone, marker="[2]"), "unsupported")
    duckdb_file.build(archive.write(tmp_path / "tables"), tmp_path / "v.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as asked:
        found = asked.execute("SELECT page, failed, sources, failed_share FROM failing_sources").fetchall()
    assert found == [("rents.example/x", 2, 2, 1.0), (lone, 1, 1, 1.0)]


def test_golden_files_without_a_query_are_not_kept():
    files = (path for folder in ("analyses", "views") for path in (GOLDEN / folder).glob("*.json"))
    kept = {path.relative_to(GOLDEN).with_suffix("").as_posix() for path in files}
    assert kept == set(queries.names())


def test_an_unknown_query_names_those_there_are():
    with pytest.raises(UsageError, match="views/coverage"):
        queries.load("views/nothing")
