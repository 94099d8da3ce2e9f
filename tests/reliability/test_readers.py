from __future__ import annotations

from tests.reliability.readers import read_while_nights_run


def test_a_night_never_disturbs_a_reader(tmp_path):
    reads, versions = read_while_nights_run(tmp_path, readers=5, nights=2)
    assert reads >= 10
    assert versions[1] >= 1  # the one that kept its connection saw one version throughout
    assert max(versions) >= 2
