from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.support.archive import Archive
from tests.support.questions import nights_archive
from verification_pipeline import duckdb_file, queries
from verification_pipeline.errors import StoreError
from verification_pipeline.keys import shard_of
from verification_pipeline.tables import TABLES, Table


def built(archive: Archive, folder: Path) -> duckdb.DuckDBPyConnection:
    duckdb_file.build(archive.write(folder / "tables"), folder / "v.duckdb")
    return duckdb.connect(str(folder / "v.duckdb"), read_only=True)


def test_every_table_is_there_with_its_types_and_words(tmp_path: Path):
    with built(nights_archive(), tmp_path) as connection:
        rows = connection.sql(
            "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
            "WHERE NOT internal AND schema_name = 'main' AND table_name IN (SELECT table_name FROM duckdb_tables())"
        ).fetchall()
        found = {(table, column): (kind, comment) for table, column, kind, comment in rows}
        expected = {
            (table.name, name): doc
            for table in TABLES.values()
            if table.name not in ("texts", "phrases")
            for name, _, doc in duckdb_file.columns_of(table)
        }
        assert {place: comment for place, (_, comment) in found.items()} == expected
        assert ("receipts", "receipt") not in found
        silent = connection.sql(
            "SELECT table_name, column_name FROM duckdb_columns() "
            "WHERE NOT internal AND schema_name = 'main' AND comment IS NULL"
        ).fetchall()
        assert silent == []
        views = {
            name for (name,) in connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        }
        assert views == {query.name.removeprefix("views/") for query in queries.views()}


def test_rows_are_the_stored_rows(tmp_path: Path):
    archive = nights_archive()
    with built(archive, tmp_path) as connection:
        for name in TABLES:
            if name in ("texts", "phrases", "receipts", "sketches"):
                continue
            stored = archive.frame(name)
            kept = connection.sql(f"SELECT * FROM {duckdb_file.quoted(name)}").pl()
            assert len(kept) == len(stored)
            assert kept.columns == stored.columns
        pairs = connection.sql("SELECT * FROM pairs").pl().sort("pair_id")
        assert pairs.drop("claim_spans").equals(archive.frame("pairs").sort("pair_id").drop("claim_spans"))
        assert connection.sql("SELECT count(*), count(*) FILTER (WHERE current) FROM receipts").fetchall() == [(6, 4)]


def test_ids_that_look_like_dates_stay_text(tmp_path: Path):
    with built(nights_archive(), tmp_path) as connection:
        row = connection.execute(
            "SELECT document_id, typeof(document_id) FROM documents WHERE title = 'Storage'"
        ).fetchone()
        assert row == ("2024-05-01", "VARCHAR")


def test_hostile_ids_are_rows_like_others(tmp_path: Path):
    archive = Archive(corpus="o'clock; DROP TABLE documents; --")
    key = archive.document("x'; --\u2028", "Text [1].")
    archive.source(key, "men's-shed; --", "Text.")
    with built(archive, tmp_path) as connection:
        assert connection.sql("SELECT corpus, document_id FROM documents").fetchall() == [
            (archive.corpus, "x'; --\u2028")
        ]
        assert connection.sql("SELECT source_id FROM sources").fetchall() == [("men's-shed; --",)]


def test_an_empty_store_gives_empty_tables(tmp_path: Path):
    duckdb_file.build(tmp_path / "tables", tmp_path / "v.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as connection:
        for query in queries.views():
            view = duckdb_file.quoted(query.name.removeprefix("views/"))
            assert connection.sql(f"SELECT * FROM {view}").fetchall() == []


def test_an_open_reader_neither_blocks_the_night_nor_loses_its_file(tmp_path: Path):
    archive = nights_archive()
    with built(archive, tmp_path) as reader:
        before = reader.execute("SELECT count(*) FROM pairs").fetchone()
        archive.rows["pairs"] = archive.rows["pairs"][:1]
        duckdb_file.build(archive.write(tmp_path / "tables"), tmp_path / "v.duckdb")
        assert reader.execute("SELECT count(*) FROM pairs").fetchone() == before
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as later:
        assert later.execute("SELECT count(*) FROM pairs").fetchone() == (1,)


def test_a_damaged_file_leaves_the_old_one_and_names_the_table(tmp_path: Path):
    built(nights_archive(), tmp_path).close()
    size = (tmp_path / "v.duckdb").stat().st_size
    (tmp_path / "tables" / "quotes" / "000.parquet").write_bytes(b"torn")
    with pytest.raises(StoreError, match="table quotes"):
        duckdb_file.build(tmp_path / "tables", tmp_path / "v.duckdb")
    assert (tmp_path / "v.duckdb").stat().st_size == size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables", "v.duckdb"]


def test_columns_that_older_files_lack_are_null(tmp_path: Path):
    archive = nights_archive()
    folder = archive.write(tmp_path / "tables")
    path = next(p for p in sorted((folder / "quotes").iterdir()) if len(pl.read_parquet(p)))
    pl.read_parquet(path).drop("edits").write_parquet(path)
    duckdb_file.build(folder, tmp_path / "v.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as connection:
        assert set(connection.sql("SELECT edits FROM quotes").fetchall()) == {(None,)}


def test_files_of_stages_and_whole_archives_are_one_table(tmp_path: Path):
    archive = nights_archive()
    folder = archive.write(tmp_path / "tables")
    whole = archive.frame("clusters").with_columns(document_key=pl.lit(None, pl.String))
    whole.write_parquet(folder / "clusters.parquet")
    stamp = pl.DataFrame([["reading", "k", "document", "h"]], schema=TABLES["fingerprints"].schema, orient="row")
    (folder / "fingerprints" / "reading").mkdir(parents=True)
    stamp.write_parquet(folder / "fingerprints" / "reading" / "0000.parquet")
    duckdb_file.build(folder, tmp_path / "v.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM clusters").fetchone() == (4,)
        assert connection.execute("SELECT count(*) FROM fingerprints").fetchone() == (1,)


def test_moments_are_utc_whatever_the_session(tmp_path: Path):
    with built(nights_archive(), tmp_path) as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        row = connection.execute("SELECT max(created_at) FROM receipts").fetchone()
        assert row is not None
        assert row[0] == dt.datetime(2026, 3, 5, 2, 30, tzinfo=dt.UTC)


def made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tables that the next build reads."""
    read: list[str] = []
    fill = duckdb_file._fill

    def watched(connection: duckdb.DuckDBPyConnection, table: Table, files: list[Path]) -> None:
        read.append(table.name)
        fill(connection, table, files)

    monkeypatch.setattr(duckdb_file, "_fill", watched)
    duckdb_file.build(folder / "tables", folder / "v.duckdb")
    monkeypatch.undo()
    return read


def with_files(folder: Path) -> list[str]:
    return [table.name for table in duckdb_file._copied() if duckdb_file.files_of(folder, table.name)]


def test_only_tables_whose_files_changed_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    archive = nights_archive()
    folder = archive.write(tmp_path / "tables")
    assert made_anew(tmp_path, monkeypatch) == with_files(folder)
    assert made_anew(tmp_path, monkeypatch) == []
    archive.frame("runs").slice(0, 1).write_parquet(folder / "runs.parquet")
    (folder / "quotes" / "000.parquet").unlink()
    (folder / "quotes" / "001.parquet").unlink()
    assert made_anew(tmp_path, monkeypatch) == ["quotes", "runs"]
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM quotes").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pairs").fetchone() == (9,)


def test_a_file_that_somebody_wrote_into_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    built(nights_archive(), tmp_path).close()
    with duckdb.connect(str(tmp_path / "v.duckdb")) as connection:
        connection.execute("DELETE FROM pairs")
    assert made_anew(tmp_path, monkeypatch) == with_files(tmp_path / "tables")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM pairs").fetchone() == (9,)


def test_a_file_of_another_shape_or_none_of_ours_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nights_archive().write(tmp_path / "tables")
    (tmp_path / "v.duckdb").write_bytes(b"not a database")
    assert made_anew(tmp_path, monkeypatch) == with_files(tmp_path / "tables")
    monkeypatch.setattr(duckdb_file, "_shape", lambda: "another")
    duckdb_file.build(tmp_path / "tables", tmp_path / "v.duckdb")
    monkeypatch.undo()
    assert made_anew(tmp_path, monkeypatch) == with_files(tmp_path / "tables")
    assert made_anew(tmp_path, monkeypatch) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"v\.duckdb cannot be built"):
        duckdb_file.build(tmp_path / "tables", tmp_path / "file" / "v.duckdb")


def test_of_a_table_only_the_shards_that_changed_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    archive, shards = nights_archive(), 4
    folder = tmp_path / "tables"
    for name in ("pairs", "sources", "clusters", "fingerprints"):
        data = archive.frame(name)
        owner = "key" if name == "fingerprints" else "document_key"
        spare = pl.col("source_key") if name == "sources" else pl.lit("f" * 32)
        places = [shard_of(key, shards) for key in data.select(pl.coalesce(owner, spare)).to_series()]
        (folder / name).mkdir(parents=True)
        for shard in range(shards):
            mine = data.filter(pl.Series([place == shard for place in places], dtype=pl.Boolean))
            mine.write_parquet(folder / name / f"{shard:04d}.parquet")
    duckdb_file.build(folder, tmp_path / "v.duckdb", shards=shards)
    read: list[Path] = []
    fill = duckdb_file._fill
    monkeypatch.setattr(duckdb_file, "_fill", lambda c, t, files: read.extend(files) or fill(c, t, files))
    fullest = {
        name: max((folder / name).iterdir(), key=lambda p: len(pl.read_parquet(p))) for name in ("pairs", "sources")
    }
    for path in fullest.values():
        pl.read_parquet(path).slice(1).write_parquet(path)
    archive.frame("clusters").with_columns(document_key=pl.lit(None, pl.String)).write_parquet(
        folder / "clusters" / "archive.parquet"
    )
    duckdb_file.build(folder, tmp_path / "v.duckdb", shards=shards)
    assert sorted(read) == sorted([*fullest.values(), folder / "clusters" / "archive.parquet"])
    duckdb_file.build(folder, tmp_path / "anew.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as connection:
        connection.execute(f"ATTACH '{tmp_path / 'anew.duckdb'}' AS anew (READ_ONLY)")
        for name in ("pairs", "sources", "clusters", "fingerprints"):
            for one, other in (("main", "anew.main"), ("anew.main", "main")):
                differing = f"SELECT * FROM {one}.{name} EXCEPT ALL SELECT * FROM {other}.{name}"
                assert connection.execute(differing).fetchall() == []
