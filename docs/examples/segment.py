"""Classes of grey in a noisy picture, and their connected segments.

    python segment.py       # prints, and writes the folder out/segment
"""

import numpy as np

import mrfhw
from mrfhw.scenes import segmentation_scene

scene = segmentation_scene(rows=96, cols=128)  # four greys under noise; scene.classes has the truth
answer = mrfhw.segment(scene.image, classes=4)

greys = np.sort(answer.values[:, 0])  # what the classes stand for, found by k-means
print(f"mean greys of the classes: {', '.join(f'{grey:.0f}' for grey in greys)}")

wrong = answer.labels != scene.classes  # both count from dark to light
print(f"pixels in a wrong class: {100 * wrong.mean():.1f} %")
print(f"segments: {answer.segments.max()}")

share = answer.counts.max(axis=-1) / answer.counts.sum(axis=-1)  # how often the most frequent class was drawn
print(f"most frequent class drawn in every counted sweep: {100 * (share == 1).mean():.1f} % of the pixels")
print(f"  wrong there: {100 * wrong[share == 1].mean():.1f} %, elsewhere: {100 * wrong[share < 1].mean():.1f} %")

answer.save("out/segment")
