"""Fixtures that several test packages share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("busy-machine", deadline=None)
settings.load_profile("busy-machine")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases beside the checkout; tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "cases").is_dir():
        pytest.skip("the shared cases are not beside this checkout")
    return folder
