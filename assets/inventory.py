"""Archives on disk into documents, sources, texts, problems and inputs."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from assets.resources import NightResource
from verification_pipeline.corpus.inventory import take_inventory

_TABLES = ("documents", "sources", "texts", "problems", "inputs")


@dg.multi_asset(specs=[spec(name, "inventory") for name in _TABLES], check_specs=[check_spec(name) for name in _TABLES])
def inventory(night: NightResource) -> Iterator[dg.MaterializeResult[None]]:
    """Read every input file that changed; keep the rows of all others."""
    run = night.night
    report = take_inventory(run.store, run.archives, run.scope, run.pool)
    run.progress("inventory", 1, 1)
    yield from results(
        run.store, _TABLES, files=report.files, read=report.read, removed=report.removed, problems_found=report.problems
    )
