from __future__ import annotations

from pathlib import Path

from verification_pipeline import dictionary
from verification_pipeline.receipts import models

ROOT = Path(__file__).resolve().parent.parent


def test_the_data_dictionary_is_current():
    assert (ROOT / dictionary.DICTIONARY).read_text("utf-8") == dictionary.markdown(), (
        "run `python -m verification_pipeline.dictionary`"
    )


def test_the_published_schema_is_current_and_versioned():
    assert (ROOT / dictionary.SCHEMA).read_bytes() == models.schema_bytes(), (
        "run `python -m verification_pipeline.dictionary`"
    )
    assert models.json_schema()["properties"]["version"]["const"] == models.SCHEMA_VERSION
