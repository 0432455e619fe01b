"""Simulated x-vectors, and what anonymization makes of them."""

import math

import numpy as np
import pytest

from privacy_eval.simulate import Anonymization, VectorModel


def test_vectors_have_the_model_s_variances() -> None:
    model = VectorModel(dimension=5, between=3.0, decay=0.5, within=0.7)
    generator = np.random.default_rng(5)
    voices = model.voices(4000, generator)
    noise = model.utterances(voices, generator) - voices
    # The deviation of a standard deviation is 1 / sqrt(2 n) of it: four are allowed.
    margin = 4 / math.sqrt(2 * 4000)
    assert voices.std(axis=0) == pytest.approx([3, 1.5, 0.75, 0.375, 0.1875], rel=margin)
    assert noise.std(axis=0) == pytest.approx([0.7] * 5, rel=margin)
    assert np.abs(np.corrcoef(voices.T, noise.T)[:5, 5:]).max() < 4 / math.sqrt(4000)


@pytest.mark.parametrize("dimension", [1, 2, 5, 6])
def test_leakage_keeps_its_length_and_is_rotated_by_the_angle(dimension: int) -> None:
    generator = np.random.default_rng(2)
    vectors = generator.standard_normal((50, dimension))
    middle = dimension // 2
    if dimension % 2:
        vectors[:, middle] = 0
    anonymized = Anonymization(keep=0.5, turn_deg=60.0).anonymize(
        vectors, np.zeros_like(vectors), generator
    )
    assert (anonymized * vectors).sum(axis=1) == pytest.approx(0.5 * 0.5 * (vectors**2).sum(axis=1))
    assert np.linalg.norm(anonymized, axis=1) == pytest.approx(
        0.5 * np.linalg.norm(vectors, axis=1)
    )


def test_right_angle_exchanges_first_and_last_dimensions() -> None:
    anonymized = Anonymization(keep=1.0, turn_deg=90.0).anonymize(
        np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), np.zeros((1, 5)), np.random.default_rng(1)
    )
    assert anonymized[0] == pytest.approx([-5, -4, 3, 2, 1])


def test_anonymization_adds_pseudo_voices_noise_and_a_shift() -> None:
    kind = Anonymization(keep=0.0, pseudo=0.5, noise=0.2, shift=7.0)
    model = VectorModel(dimension=3, between=2.0, decay=1.0)
    generator = np.random.default_rng(8)
    pseudo = kind.pseudo_voices(4000, model, generator)
    margin = 4 / math.sqrt(2 * 4000)
    assert pseudo.std(axis=0) == pytest.approx([1.0] * 3, rel=margin)
    rest = kind.anonymize(np.full((4000, 3), 100.0), pseudo, generator) - pseudo
    assert rest.std(axis=0) == pytest.approx([0.2] * 3, rel=margin)
    assert rest.mean(axis=0) == pytest.approx([7.0] * 3, abs=4 * 0.2 / math.sqrt(4000))
