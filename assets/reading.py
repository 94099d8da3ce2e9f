"""Documents and their sources, read once: markers, pairs, triage, quotes, cited works."""

from collections.abc import Sequence

from assets.registry import check_spec, results, spec
from assets.spread import by_shards
from verification_pipeline.night import Night
from verification_pipeline.shards import ShardReport, run_stage
from verification_pipeline.stages.reading import TABLES, Reading

_DEPS = {
    "references": ["documents", "sources"],
    "markers": ["documents", "sources", "references"],
    "pairs": ["documents", "markers"],
    "document_sources": ["sources", "markers", "references"],
    "census": ["documents", "markers"],
    "triage": ["pairs", "document_sources", "texts"],
    "quotes": ["documents", "pairs", "document_sources", "texts"],
    "uncited_numbers": ["documents", "pairs", "document_sources", "texts"],
    "doi_mentions": ["documents", "references", "document_sources"],
    "findings_in_text": ["documents", "document_sources", "texts"],
    "sketches": ["sources", "texts"],
    "phrases": ["sources", "texts"],
    "overlaps": ["document_sources", "sketches", "texts"],
    "clusters": ["document_sources", "sketches", "overlaps"],
    "failures": ["documents"],
}


def read(night: Night, shards: Sequence[int]) -> ShardReport:
    """Read every document of these shards whose text, sources, code or settings moved."""
    return run_stage(Reading(), night.store, night.scope, night.pool, night.progress, shards)


reading = by_shards(
    "reading",
    "read_shards",
    specs=[spec(name, "reading", _DEPS[name]) for name in TABLES],
    check_specs=[check_spec(name) for name in TABLES],
    work=read,
    told=lambda night, report: results(night.store, TABLES, report),
)
