from __future__ import annotations

import os
import signal
import time

import pytest

from tests.support import processes
from tests.support.corpora import harbour


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_night_says_one_line_and_the_next_goes_on(tmp_path, number):
    night = ("run", harbour(tmp_path / "harbour"), "--out", tmp_path / "out", "--workers", 2)
    process = processes.start(*night, stderr=processes.PIPE)
    while not (tmp_path / "out" / "tables" / "documents").exists():  # at work, and so are its workers
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)
    _, error = process.communicate()
    assert (process.returncode, len(error.splitlines())) == (130, 1), error
    assert "interrupted" in error
    while processes.members(process.pid):  # what keeps their books ends a moment after them
        time.sleep(0.05)
    assert processes.measured(*night).status == 0
