from __future__ import annotations

import time

import numpy as np
import pytest

from tests.checkers.embedded.support import measured
from verification_pipeline.checkers.embedded.calibration import Calibration
from verification_pipeline.checkers.embedded.features import features
from verification_pipeline.checkers.embedded.model import FILE, HEADS, READ, Trees, derived, read, shipped


def test_the_shipped_model_fits_the_features_and_loads_fast():
    began = time.process_time()
    model = read(FILE)
    assert time.process_time() - began < 1
    assert list(features(measured("The kiln cracked.", "A kiln cracked."))) == list(model.features)
    assert set(model.heads) == set(HEADS)


def test_trees_send_equal_values_left():
    trees = Trees(
        np.array([[0, -1, -1]], np.int16),
        np.array([[0.5, 0, 0]], np.float32),
        np.array([[1, 0, 0]], np.int16),
        np.array([[2, 0, 0]], np.int16),
        np.array([[0, -1, 1]], np.float32),
        depth=1,
    )
    assert trees(np.array([[0.5], [0.6]], np.float32)).tolist() == [-1, 1]


def test_scores_do_not_depend_on_the_other_rows():
    rows = np.random.default_rng(1).random((40, len(shipped().features)), np.float32)
    together = shipped().scores(rows)
    for name in HEADS:
        assert together[name][7] == shipped().scores(rows[7:8])[name][0]


def test_signs_of_a_change_count_only_near_a_sentence_and_their_absence_never():
    scores = {name: np.zeros(4) for name in HEADS} | {"intact": np.array([2.0, -0.4, -2.5, -2.5])}
    found = derived(scores, READ, np.array([[1], [1], [1], [0]] * np.ones(4), np.float32))
    assert found["changed"].tolist() == [0, 0, -2, 0]
    assert found["veto"].tolist() == [0, -0.4, -2.5, -2.5]


def test_a_claim_is_held_by_overlap_and_as_people_grade():
    scores = {name: np.zeros(1) for name in HEADS} | {"coverage": np.ones(1)}
    assert derived(scores, READ, np.ones((1, 4), np.float32))["holds"] == pytest.approx(1 - 0.5 * np.log(2))


def test_probabilities_sum_to_one():
    curves = Calibration.of(("a",), np.array([[1, 0], [-1, 0.5], [0.3, 0]]))
    p = curves({"a": np.linspace(-50, 50, 11)})
    assert np.allclose(p.supported + p.contradicted + p.partial + p.absent, 1)


def test_a_calibration_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="cannot have weights"):
        Calibration.of(("a", "b"), np.zeros((3, 2)))


def test_a_file_that_is_no_model_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros(1))
    with pytest.raises(ValueError, match="is not a model"):
        read(tmp_path / "x.npz")
