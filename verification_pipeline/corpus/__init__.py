"""Readers of archives, one module a format, one contract out: documents, sources, texts, problems.

`folder`, `bundle` and `vault` each say which input files such a corpus holds, to whom an entry belongs, and what it
means; `archive` tells which format a path is. Shared by them: `files` (what lies on disk), `bodies` (bytes into text),
`entries` (the checks at the border). `inventory` writes the tables. Nothing here reads citations, and no broken
input raises: it becomes a row of `problems`.
"""
