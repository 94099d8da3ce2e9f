"""Claims and sources as views, without a learned table of words."""

from __future__ import annotations

import numpy as np

from verification_pipeline import keys
from verification_pipeline.checkers.embedded.features import Measured, negation_hashes
from verification_pipeline.checkers.embedded.lexicon import Lexicon, short
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView, SourceView
from verification_pipeline.config import Embedded
from verification_pipeline.text.index import IndexedText, WordIndex

_NONE = np.empty((0, 2), np.uint32)
LEXICON = Lexicon(np.empty(0, np.uint64), np.empty(0, np.float32), _NONE, _NONE, _NONE, 5.0)


def lexicon(synonyms: str = "", opposites: str = "") -> Lexicon:
    """Tables from `a/b c/d`."""
    return Lexicon(LEXICON.hashes, LEXICON.rarity, _table(synonyms), _table(opposites), _NONE, 5.0)


def _table(pairs: str) -> np.ndarray:
    both = [pair.split("/")[::step] for pair in pairs.split() for step in (1, -1)]
    table = [[short(WordIndex.build(word).words)[0] for word in pair] for pair in both]
    return np.unique(np.array(table, np.uint32).reshape(-1, 2), axis=0)


def claim(text: str, words: Lexicon = LEXICON) -> ClaimView:
    return ClaimView.of(text, words, "en")


def source(text: str) -> SourceView:
    return SourceView.of(IndexedText(keys.text_sha256(text), text), "en")


def measured(said: str, page: str, words: Lexicon = LEXICON) -> Measured:
    one, other = claim(said, words), source(page)
    return Measured(one, other, find(one, other, words), words, negation_hashes(Embedded().negations))
