"""Support that stands in another document's source."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from verification_pipeline.night import Night
from verification_pipeline.stages.elsewhere import find_elsewhere


@dg.multi_asset(
    specs=[
        spec("found_elsewhere", "elsewhere", ["verdicts", "quotes", "document_sources", "sources", "texts", "phrases"])
    ],
    check_specs=[check_spec("found_elsewhere")],
)
def found_elsewhere(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None]]:
    """Look unsupported pairs and unfound quotes up in the rest of the archive."""

    find_elsewhere(night)
    yield from results(night.store, ["found_elsewhere"])
