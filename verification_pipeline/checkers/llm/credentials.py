"""The provider's key: where it comes from, and how it is kept out of everything that is written."""

from __future__ import annotations

import os
import re

from verification_pipeline.config import OpenAI
from verification_pipeline.errors import CheckerError

_KEY_LIKE = re.compile(r"\b(?:sk|key|Bearer)[-_ ][\w.*-]{6,}")


class Secret:
    """A key that does not show itself in representations, logs or exceptions."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for the client alone."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def out_of(self, text: str) -> str:
        """A text without the key, nor anything that looks like one (servers echo parts of it)."""
        return _KEY_LIKE.sub("[key]", text.replace(self._value, "[key]"))

    def out_of_bytes(self, raw: bytes) -> bytes:
        """Bytes without the key."""
        return raw.replace(self._value.encode(), b"[key]")


def key_of(rules: OpenAI) -> Secret:
    """The key from the environment, else from the file named in the settings. CheckerError when there is none."""
    value = os.environ.get(rules.api_key_env, "").strip()
    if not value and rules.api_key_file is not None:
        try:
            value = rules.api_key_file.expanduser().read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CheckerError(f"the key file {rules.api_key_file} cannot be read: {type(error).__name__}") from None
    if not value:
        raise CheckerError(
            f"the openai checker needs a key: set the environment variable {rules.api_key_env}, or "
            "checker.openai.api_key_file (any word will do for a local server that asks for none)"
        )
    return Secret(value)
