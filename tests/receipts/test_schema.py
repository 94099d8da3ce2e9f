"""The published JSON Schema, as a reader without this package uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from verification_pipeline.receipts import models

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))
VALIDATOR = Draft202012Validator(models.json_schema(), format_checker=FormatChecker())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_receipts_are_valid(path: Path):
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(path.read_text("utf-8")))] == []


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("version",), "0.9"),
        (("state",), "fine"),
        (("digest",), "abc"),
        (("cite_check", "pairs"), -1),
        (("cite_check", "rows", 0, "verdict"), "true"),
        (("cite_check", "verdicts", "extra"), 1),
        (("checks", 0, "ok"), "yes"),
    ],
)
def test_other_shapes_are_not(where: tuple[Any, ...], value: Any):
    receipt = json.loads(GOLDEN[0].read_text("utf-8"))
    part = receipt
    for step in where[:-1]:
        part = part[step]
    part[where[-1]] = value
    assert not VALIDATOR.is_valid(receipt)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(models.json_schema())
