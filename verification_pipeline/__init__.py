"""Re-verifies whole archives of cited documents, citation by citation.

The domain package: documents, sources, citations, verdicts, receipts. It knows no orchestrator (that is
`assets`) and is usable as a library.
"""

__version__ = "0.1.0"
