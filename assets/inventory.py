"""Archives on disk into documents, sources, texts, problems and inputs."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from verification_pipeline.corpus.inventory import take_inventory
from verification_pipeline.night import Night

_TABLES = ("documents", "sources", "texts", "problems", "inputs")


@dg.multi_asset(specs=[spec(name, "inventory") for name in _TABLES], check_specs=[check_spec(name) for name in _TABLES])
def inventory(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None]]:
    """Read every input file that changed; keep the rows of all others."""

    report = take_inventory(night.store, night.archives, night.scope, night.pool)
    night.progress("inventory", 1, 1)
    yield from results(
        night.store,
        _TABLES,
        files=report.files,
        read=report.read,
        removed=report.removed,
        problems_found=report.problems,
    )
