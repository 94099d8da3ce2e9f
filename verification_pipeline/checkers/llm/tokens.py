"""How many tokens a text is, counted offline with the o200k vocabulary.

Servers with other vocabularies count otherwise: the figure bounds prompts and estimates money; what is billed comes
from the server.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpe_openai.tokenizer import Encoding


@cache
def _encoding() -> Encoding:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its tables by a call that Python 3.11 deprecates
        import bpe_openai  # here: a second and 140 MB that only this checker needs

        return bpe_openai.get_encoding("o200k_base")


def count(text: str) -> int:
    """Tokens of a text; what is not encodable counts as a replacement character."""
    return len(_encoding().encode_ordinary(text.encode("utf-8", "replace").decode("utf-8")))
