from __future__ import annotations

import pytest

from verification_pipeline.config import Settings, load, read_toml
from verification_pipeline.errors import UsageError


def test_later_layers_win_key_by_key():
    settings = load(
        {"sampling": {"seed": 1, "sample": 0.5}, "checker": {"kind": "none"}},
        {"sampling": {"sample": "strong-markers"}},
    )
    assert (settings.sampling.seed, settings.sampling.sample, settings.checker.kind) == (1, "strong-markers", "none")
    assert load() == Settings()


@pytest.mark.parametrize(
    ("layer", "fault"),
    [
        ({"samplin": {}}, "samplin"),
        ({"sampling": {"sed": 1}}, r"sampling\.sed"),
        ({"sampling": {"rest_share": 2}}, r"sampling\.rest_share"),
        ({"checker": {"kind": "oracle"}}, r"checker\.kind"),
        ({"sampling": 5}, "sampling"),
    ],
)
def test_what_is_unknown_or_out_of_range_is_named(layer, fault):
    with pytest.raises(UsageError, match=fault):
        load(layer)


def test_a_share_outside_0_to_1_is_refused():
    with pytest.raises(UsageError, match="sample"):
        load({"sampling": {"sample": 1.5}})


def test_a_broken_file_is_named(tmp_path):
    path = tmp_path / "pipeline.toml"
    path.write_text("[sampling\n")
    with pytest.raises(UsageError, match=r"pipeline\.toml.*line 1"):
        read_toml(path)
    with pytest.raises(UsageError, match="nowhere"):
        read_toml(tmp_path / "nowhere.toml")


def test_the_fingerprint_moves_with_its_sections_only():
    changed = load({"sampling": {"seed": 99}})
    assert changed.fingerprint("triage") == Settings().fingerprint("triage")
    assert changed.fingerprint("sampling") != Settings().fingerprint("sampling")
    assert changed.fingerprint() != Settings().fingerprint()
