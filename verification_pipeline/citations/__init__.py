"""Markers, reference lists, binding: from a document and its sources to references, markers and pairs."""

from verification_pipeline.citations.catalogue import SourceCatalogue
from verification_pipeline.citations.census import count_marker_like
from verification_pipeline.citations.extraction import extract

__all__ = ["SourceCatalogue", "count_marker_like", "extract"]
