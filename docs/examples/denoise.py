"""A picture without its noise, and with its scratches filled.

    python denoise.py       # prints, and writes the folder out/denoise
"""

import numpy as np

import mrfhw
from mrfhw.scenes import denoising_scene


def psnr(picture: np.ndarray, clean: np.ndarray) -> float:
    """Peak signal-to-noise ratio in dB of 8-bit pictures."""
    return float(10 * np.log10(255**2 / np.mean((picture.astype(float) - clean) ** 2)))


scene = denoising_scene(rows=96, cols=128, deviation=20.0)  # scene.observed is False where the picture is scratched
answer = mrfhw.denoise(scene.noisy, mask=scene.observed)

print(f"noisy: {psnr(scene.noisy, scene.clean):.1f} dB, denoised: {psnr(answer.image, scene.clean):.1f} dB")
known = scene.observed
print(f"where nothing is scratched: {psnr(scene.noisy[known], scene.clean[known]):.1f} dB, "
      f"{psnr(answer.image[known], scene.clean[known]):.1f} dB")
print(f"mean standard deviation: {answer.std[known].mean():.1f} grey values; in the scratches: {answer.std[~known].mean():.1f}")

answer.save("out/denoise")
