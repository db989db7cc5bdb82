"""Motion from one frame to the next.

    python motion.py        # prints, and writes the folder out/motion
"""

import numpy as np

import mrfhw
from mrfhw.scenes import motion_scene

scene = motion_scene(rows=96, cols=128)
truth = scene.flow[..., ::-1]  # the scene has (row, column); a flow has the column first, as in OpenCV
answer = mrfhw.motion(scene.first, scene.second, vectors=(7, 7), truth=truth)  # motions of -3 to 3 pixels in each direction

error = np.linalg.norm(answer.flow - truth, axis=-1)
print(f"flow: {answer.flow.shape}, {answer.flow.dtype}")
print(f"mean end-point error: {error.mean():.2f} pixels; if nothing moved: {np.linalg.norm(truth, axis=-1).mean():.2f}")
print(f"the same by the name of its measure: {answer.metrics['epe_flow']:.2f}")

doubtful = answer.std > 1  # pixels
print(f"standard deviation above 1 pixel: {100 * doubtful.mean():.1f} % of the pixels")
print(f"  mean error there: {error[doubtful].mean():.2f}, elsewhere: {error[~doubtful].mean():.2f}")
print(f"converged: {answer.converged} (R-hat {answer.rhat:.2f})")

answer.save("out/motion")
