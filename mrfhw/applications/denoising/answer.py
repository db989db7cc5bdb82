"""What `mrfhw.denoise` gives."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.answer import Measured

__all__ = ["Denoised"]


class Denoised(Measured):
    """The answer of `mrfhw.denoise`; see Answer. values are grey of 0 to 255.

    A picture in colour is three fields (`mrfhw.pictures.opponents`): mean, std and interval are (H, W, 3), (H, W, 3) and
    (H, W, 3, 2), of red, green and blue; labels and entropy (H, W, 3), counts (H, W, 3, L) and values (L, 3) are the fields'.
    """

    @property
    def image(self) -> np.ndarray:
        """The picture in its own size and depth, uint8, uint16 or, of floats, float32; alpha is left out: what
        patches that look alike say together (`mrfhw.applications.denoising.patches`), with alone the mean of the posterior; with
        estimate="last", or where the run annealed, that estimate."""
        assert self._job.restoring is not None
        return self._job.restoring.picture(self._analysis.answer)
