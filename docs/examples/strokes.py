"""Things cut out of a picture by strokes, and how sure each pixel is.

    python strokes.py       # prints, and writes the folder out/strokes
"""

import numpy as np

import mrfhw
from mrfhw.scenes import segmentation_scene

scene = segmentation_scene(rows=96, cols=128)  # four greys under noise; scene.classes has the truth
wanted = scene.classes == 3  # the lightest things
row, col = np.indices(wanted.shape)

strokes = np.zeros(wanted.shape, int)  # 0: no stroke
strokes[~wanted & (row % 24 == 0) & (col % 32 < 12)] = 1  # short lines, not on the object
strokes[wanted & (row % 24 == 12) & (col % 32 < 12)] = 2  # and on it
print(f"strokes: {100 * (strokes > 0).mean():.1f} % of the pixels")

answer = mrfhw.segment(scene.image, scribbles=strokes)
found = answer.labels == 1  # labels count from 0
print(f"intersection over union: {(found & wanted).sum() / (found | wanted).sum():.3f}")

drawn = strokes == 0  # pixels of strokes are what they say, and have no counts
share = answer.counts[drawn].max(axis=-1) / answer.counts[drawn].sum(axis=-1)
wrong = (found != wanted)[drawn]
print(f"drawn alike in 95 % of the sweeps and more: {100 * (share >= 0.95).mean():.1f} % of the pixels without a stroke")
print(f"  wrong there: {100 * wrong[share >= 0.95].mean():.2f} %, elsewhere: {100 * wrong[share < 0.95].mean():.1f} %")

answer.save("out/strokes")
