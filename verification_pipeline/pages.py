"""Templates of the pages for people: everything is escaped, and what a reader's eye would obey is made visible.

What a page says belongs to its own module (`receipts.page`, `fleet`).
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from verification_pipeline.receipts.rendering import harmless


@cache
def environment(package: str) -> jinja2.Environment:
    """The templates of a package."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def part(package: str, name: str) -> Markup:
    """A file beside the templates, as it is: style or script that is shipped with the package."""
    env = environment(package)
    assert env.loader is not None
    return Markup(env.loader.get_source(env, name)[0])  # noqa: S704 - shipped with the package


def source_hash(words: str) -> str:
    """What a content security policy calls an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(words.encode()).digest()).decode()


def _shown(value: Any) -> Any:
    """What an expression of a template prints: nothing for None, words without controls."""
    if value is None:
        return ""
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value
