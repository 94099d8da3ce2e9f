"""Cited works: their identifiers, what registers say about them, and the status that follows.

normalise        identifiers out of text and addresses: DOI, PubMed id, arXiv id
mentions         a document's citations -> its cited works
acknowledgement  whether a document itself says that a work was retracted
notices          what a register holds, as rows with an observation period
precedence       notices of one work -> its status
sweep            all of it over an archive, as of a day or a range of days
"""
