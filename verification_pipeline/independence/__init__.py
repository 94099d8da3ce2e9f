"""Independence: how many voices stand behind a document, or an archive, and which sources repeat one another.

`sketch` makes the small record that is stored per source text; `cluster_document` and `cluster_archive` turn sources
and sketches into rows of `clusters`; `effective_sources` counts the voices.
"""

from verification_pipeline.independence.clusters import (
    ClusterRow,
    Member,
    Overlaps,
    cluster_archive,
    cluster_document,
    effective_sources,
    measuring,
)
from verification_pipeline.independence.shingles import all_shingles
from verification_pipeline.independence.sketches import Sketch, sketch

__all__ = [
    "ClusterRow",
    "Member",
    "Overlaps",
    "Sketch",
    "all_shingles",
    "cluster_archive",
    "cluster_document",
    "effective_sources",
    "measuring",
    "sketch",
]
