"""Readers of archives: folder, bundle and vault in, one contract out (documents, sources, texts, problems).

`archive` finds the input files of a corpus, one module a format reads them into raw entries, `bodies` turns bytes
into text, `entries` checks each entry at the border, and `inventory` writes the four tables. Nothing here reads
citations, and no broken input raises: it becomes a row of `problems`.
"""
