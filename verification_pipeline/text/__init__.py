"""What every tier shares about text: normalisation, sentences, typed numbers, addresses, the word index.

Nothing here knows documents, citations or tables.
"""
