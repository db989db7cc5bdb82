"""Disparities of a pair of pictures, and how far to believe them.

    python stereo.py        # prints, and writes the folder out/stereo
"""

import numpy as np

import mrfhw
from mrfhw.scenes import stereo_scene

scene = stereo_scene(rows=96, cols=128, labels=16)  # two pictures, and the true disparity of each pixel of the left one
answer = mrfhw.stereo(scene.left, scene.right, labels=16, sweeps=400)

wrong = np.abs(answer.disparity - scene.disparity) > 1  # by more than a pixel
print(f"wrong by more than 1 pixel: {100 * wrong.mean():.1f} % of all pixels")

sure = answer.confidence > np.median(answer.confidence)
print(f"  of the half with the greater confidence: {100 * wrong[sure].mean():.1f} %")
print(f"  of the other half: {100 * wrong[~sure].mean():.1f} %")

low, high = answer.interval[..., 0], answer.interval[..., 1]
inside = (low <= scene.disparity) & (scene.disparity <= high)
print(f"true disparity within the 90 % interval: {100 * inside.mean():.1f} % of the pixels")
print(f"hidden in the right picture, or not matched: {100 * answer.occluded.mean():.1f} %")
print(f"converged: {answer.converged} (R-hat {answer.rhat:.2f})")

answer.save("out/stereo")
