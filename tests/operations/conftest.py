"""A store verified once; every test gets a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.corpora import harbour
from tests.support.nights import verify
from verification_pipeline.store import Store


@pytest.fixture(scope="session")
def verified(tmp_path_factory) -> Path:
    """The folder of a store with one night of the harbour corpus, and the corpus beside it."""
    root = tmp_path_factory.mktemp("verified")
    verify(root / "out", harbour(root / "harbour"))
    return root


@pytest.fixture
def store(verified, tmp_path) -> Store:
    """A copy of that store."""
    shutil.copytree(verified / "out", tmp_path / "out")
    return Store.open(tmp_path / "out", create=False)
