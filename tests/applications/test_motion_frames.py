"""`mrfhw.motion` of several frames: the bits of pairs with one window, of which each goes on from the one before."""

from __future__ import annotations

import numpy as np
import pytest

import mrfhw
from mrfhw.scenes import motion_scene

SCENE = motion_scene(60, 72, seed=2)
FRAMES = [SCENE.first, SCENE.second, np.roll(SCENE.second, (1, 2), (0, 1))]
QUICK = dict(sweeps=12, chains=1, seed=3)


def test_one_window_serves_all_frames():
    answers = mrfhw.motion(FRAMES, **QUICK)
    assert [type(answer) for answer in answers] == [mrfhw.Motion] * 2
    assert np.array_equal(answers[0].problem.vectors, answers[1].problem.vectors)
    alone = [mrfhw.motion(*pair, **QUICK).problem.vectors for pair in (FRAMES[:2], FRAMES[1:])]
    for ends in (np.min, np.max):
        assert np.array_equal(ends(answers[0].problem.vectors, 0), ends([ends(one, 0) for one in alone], 0))


@pytest.mark.claim("mrfhw.motion", "several frames have the bits of pairs with one window of motions, each with the labels before")
def test_a_window_that_is_given_holds_for_all():
    given = dict(vectors=(5, 5), centre=(0, 1), **QUICK)
    answers = mrfhw.motion(FRAMES, **given)
    first = mrfhw.motion(*FRAMES[:2], **given)
    second = mrfhw.motion(*FRAMES[1:], before=first.labels, **given)
    assert np.array_equal(answers[0].counts, first.counts)
    assert np.array_equal(answers[1].counts, second.counts)
    assert not np.array_equal(second.counts, mrfhw.motion(*FRAMES[1:], **given).counts)


def test_each_has_its_truth_and_its_looks():
    looks = []
    answers = mrfhw.motion(FRAMES, vectors=(5, 5), centre=(0, 1), callback=lambda look: looks.append(look.part), every=6,
                           truth=[SCENE.flow[..., ::-1], None], **QUICK)
    assert looks == [0, 0, 1, 1]
    assert answers[0].metrics
    assert not answers[1].metrics


def test_a_callback_ends_all():
    answers = mrfhw.motion(FRAMES, vectors=(5, 5), centre=(0, 1), callback=lambda look: look.sweeps >= 6, every=6, **QUICK)
    assert len(answers) == 1


@pytest.mark.parametrize(("given", "line"), [
    (dict(first=FRAMES[0]), "second is None, and first is one picture; a motion is that of a frame to the next: give both, or"),
    (dict(first="a.png"), "second is None, and first is one picture"),
    (dict(first=[FRAMES[0]]), "first has 1 frame; a motion is that of a frame to the next: give 2 or more"),
    (dict(first=3), "first is 3; a motion is that of a frame to the next: give two pictures, or a list of frames"),
    (dict(first=FRAMES, truth=[None]), "truth has 1 motions, and 3 frames have 2: give one for each frame but the last, None"),
    (dict(first=[FRAMES[0], FRAMES[1][:30]]), "the second image is 72x30")])
def test_one_line_each(given, line):
    with pytest.raises(mrfhw.ProblemError) as error:
        mrfhw.motion(**given)
    assert str(error.value).startswith(line)
