"""What `mrfhw.denoise` gives."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.answer import Answer

__all__ = ["Denoised"]


class Denoised(Answer):
    """The answer of `mrfhw.denoise`; see Answer. values are grey of 0 to 255."""

    @property
    def image(self) -> np.ndarray:
        """The picture in its own size, depth and colours, uint8, uint16 or, of floats, float32; alpha is left out: the mean of
        the posterior. Of a colour picture the grey is denoised, and the colours stay."""
        assert self._job.restoring is not None
        return self._job.restoring.picture(self._analysis.answer[..., 0])
