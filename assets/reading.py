"""Documents and their sources, read once: markers, pairs, triage, quotes, cited works."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from assets.resources import NightResource
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
}


@dg.multi_asset(
    specs=[spec(name, "reading", _DEPS[name]) for name in TABLES], check_specs=[check_spec(name) for name in TABLES]
)
def reading(night: NightResource) -> Iterator[dg.MaterializeResult[None]]:
    """Read every document whose text, sources, code or settings moved."""
    run = night.night
    report = run_stage(Reading(), run.store, run.scope, run.pool, run.progress)
    yield from results(run.store, TABLES, report)
