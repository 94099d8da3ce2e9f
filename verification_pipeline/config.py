"""Every threshold, seed, price, path and word list, as frozen pydantic models. One section a part of the pipeline.

Where a value comes from: command line > `corpus.toml` > `--config` file > the defaults here. `load` merges the
layers and checks them once; inside, settings are trusted. No module reads the environment except for keys named
here. What belongs elsewhere: anything computed from data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of


class Section(BaseModel):
    """A frozen group of settings; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Section):
    """Sizes beyond which an input is recorded as too large instead of read."""

    document_chars: int = Field(2_000_000, gt=0, description="Longest document that is read, code points.")
    source_chars: int = Field(4_000_000, gt=0, description="Longest source text that is read, code points.")
    file_bytes: int = Field(64_000_000, gt=0, description="Largest single document or source file, bytes.")


class Corpus(Section):
    """What makes a source text unusable as evidence."""

    challenge_phrases: tuple[str, ...] = (
        "checking your browser",
        "enable javascript and cookies",
        "verify you are human",
        "making sure you are not a bot",
        "are you a robot",
        "attention required! | cloudflare",
        "access denied",
        "please enable cookies",
        "unusual traffic from your computer network",
        "complete the captcha",
        "ddos protection by",
        "we value your privacy",
        "before you continue to",
    )
    challenge_max_words: int = Field(
        120, gt=0, description="A page with a challenge phrase and at most so many words is one."
    )
    challenge_within_chars: int = Field(200, gt=0, description="The phrase stands within so many code points.")
    empty_words: tuple[str, ...] = ("nan", "none", "null", "n/a", "undefined", "[deleted]", "[removed]")


class Citations(Section):
    """How documents are read: reference lists and markers."""


class Triage(Section):
    """What passes without a reader."""

    strong: Literal["number-rule", "always-read"] = Field(
        "number-rule", description="Whether strong pairs may pass by the number rule at all."
    )


class Strong(Section):
    """Words that make a claim strong, besides typed numbers, per language (`*` = every language)."""

    words: Mapping[str, tuple[str, ...]] = {
        "*": ("%", "$", "€", "£", "¥"),
        "en": ("billion", "million", "increase", "decrease", "grew", "fell"),
        "de": ("Milliarde", "Milliarden", "Million", "Millionen", "stieg", "sank", "wuchs", "fiel"),
        "fr": ("milliard", "milliards", "million", "millions", "augmenté", "diminué", "hausse", "baisse"),
        "es": ("millones", "millón", "aumentó", "disminuyó", "creció", "cayó"),
        "zh": ("亿", "万", "增长", "下降", "增加", "减少"),
    }


class Sampling(Section):
    """What the checker reads. Seed `verification-receipt`: `all`, `strong-markers`, or a share of the rest."""

    sample: Literal["all", "strong-markers"] | float = Field("all", description="all, strong-markers or 0..1.")
    seed: int = 20
    rest_share: float = Field(0.2, ge=0, le=1, description="Share of the rest under strong-markers.")
    batch_size: int = Field(25, ge=1, le=25)


class Lexical(Section):
    """The plain lexical grader: shares of the claim's weighted words that must stand in one passage."""

    supported_share: float = Field(0.8, ge=0, le=1, description="From this share on: supported.")
    partial_share: float = Field(0.5, ge=0, le=1, description="From this share on: partially supported.")
    negations: tuple[str, ...] = (
        *("not", "no", "never", "none", "neither", "nor", "without", "cannot", "t", "fails", "failed"),
        *("nicht", "kein", "keine", "nie", "ohne", "pas", "jamais", "sans", "nunca", "sin"),
        *("不", "没", "無", "非"),
    )


class OpenAI(Section):
    """An OpenAI-compatible server."""

    base_url: str | None = Field(None, description="None: the client's default.")
    model: str = "gpt-4.1-mini"
    api_key_env: str = Field("OPENAI_API_KEY", description="Environment variable that holds the key.")
    concurrency: int = Field(8, ge=1)
    timeout_seconds: float = Field(120, gt=0)
    max_source_chars: int = Field(
        24_000, gt=0, description="Longer sources are shown as their relevant passages, so many code points."
    )
    cents_per_million_input: float = Field(40.0, ge=0)
    cents_per_million_output: float = Field(160.0, ge=0)


class Checker(Section):
    """Who grades the pairs that triage did not pass."""

    kind: Literal["none", "replay", "embedded", "openai", "embedded+openai"] = "embedded"
    replay_path: Path | None = Field(None, description="Recorded answers, JSONL; None: the corpus's answers.jsonl.")
    lexical: Lexical = Lexical()
    openai: OpenAI = OpenAI()


class Quotes(Section):
    """Quoted spans and how they are compared."""

    min_words: int = Field(6, ge=1, description="Shortest quotation that is checked (seed verification-receipt).")


class Independence(Section):
    """When two sources are one voice."""


class Registers(Section):
    """Retraction registers."""

    retraction_watch: Path | None = Field(None, description="Retraction Watch CSV.")


class Policy(Section):
    """What the ship gate lets through."""

    allow_unsupported: bool = Field(
        False, description="Let unsupported and wrong-source pairs through the gate; dangling ones never."
    )


class TextChecks(Section):
    """What a document's text alone shows: leaked scaffolding, copied code."""

    code_min_lines: int = Field(5, ge=1, description="Shortest fenced block that is looked for in the sources.")
    code_run_words: int = Field(8, ge=2, description="Words of a run when code is compared with a source.")
    code_min_share: float = Field(0.8, gt=0, le=1, description="Share of a block's runs that make it the source's.")


class Metrics(Section):
    """Fleet figures."""

    confidence: float = Field(0.95, gt=0, lt=1, description="Confidence of the intervals.")


class DuckDBFile(Section):
    """Resources while the DuckDB file is built."""

    memory_limit: str = "1GB"
    threads: int = Field(2, ge=1)


class Settings(Section):
    """All settings of a run."""

    limits: Limits = Limits()
    corpus: Corpus = Corpus()
    citations: Citations = Citations()
    triage: Triage = Triage()
    strong: Strong = Strong()
    sampling: Sampling = Sampling()
    checker: Checker = Checker()
    quotes: Quotes = Quotes()
    independence: Independence = Independence()
    registers: Registers = Registers()
    policy: Policy = Policy()
    text_checks: TextChecks = TextChecks()
    metrics: Metrics = Metrics()
    duckdb_file: DuckDBFile = DuckDBFile()

    def fingerprint(self, *sections: str) -> str:
        """Hash of the named sections (of all, without names): the configuration component of a fingerprint."""
        chosen = sections or tuple(type(self).model_fields)
        return hash_of(*(f"{name}={getattr(self, name).model_dump_json()}" for name in chosen))


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. UsageError names the file and the line."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"configuration {path} cannot be read: {error}") from error


def load(*layers: Mapping[str, Any], where: str = "configuration") -> Settings:
    """Merge layers, later ones winning key by key, into checked settings. UsageError names every bad value."""
    merged: dict[str, Any] = {}
    for layer in layers:
        _merge(merged, layer)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UsageError(f"{where}: {faults}") from error


def _merge(base: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = dict(value) if isinstance(value, Mapping) else value
