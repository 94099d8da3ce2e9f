"""Documents and their sources, read once: markers, pairs, triage, quotes, cited works."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from verification_pipeline.night import Night
from verification_pipeline.shards import run_stage
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


@dg.multi_asset(
    specs=[spec(name, "reading", _DEPS[name]) for name in TABLES], check_specs=[check_spec(name) for name in TABLES]
)
def reading(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None]]:
    """Read every document whose text, sources, code or settings moved."""

    report = run_stage(Reading(), night.store, night.scope, night.pool, night.progress)
    yield from results(night.store, TABLES, report)
