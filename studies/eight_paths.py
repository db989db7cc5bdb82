"""Semi-global matching of eight paths by OpenCV, as who has no sampler uses it: a disparity for each pixel and how sure it is."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["eight_paths", "opencv"]

LAMBDA, SIGMA = 8000.0, 1.5  # of the filter, as its example has them
SIDE = 5  # of the blocks


def opencv() -> ModuleType | None:
    """OpenCV, or None where it is not installed."""
    return importlib.import_module("cv2") if importlib.util.find_spec("cv2") is not None else None


def _matcher(cv2: Any, labels: int, least: int) -> Any:
    return cv2.StereoSGBM_create(minDisparity=least, numDisparities=-(-labels // 16) * 16, blockSize=SIDE, P1=8 * 3 * SIDE**2,
                                 P2=32 * 3 * SIDE**2, mode=cv2.STEREO_SGBM_MODE_HH)


def eight_paths(cv2: Any, left: np.ndarray, right: np.ndarray, labels: int,
                least: int) -> tuple[str, np.ndarray, np.ndarray | None]:
    """What it is, disparities (H, W) float64 in pixels, and confidence (H, W) or None. left, right: uint8 (H, W, 3), BGR.

    With opencv-contrib the matches both ways go through its filter by weighted least squares, which has a confidence. Without it
    pixels whose matches disagree by more than one pixel take the disparity of the nearest that agrees, the smaller of both sides'.
    """
    matcher = _matcher(cv2, labels, least)
    if hasattr(cv2, "ximgproc"):
        weighted = cv2.ximgproc.createDisparityWLSFilter(matcher)
        weighted.setLambda(LAMBDA)
        weighted.setSigmaColor(SIGMA)
        back = cv2.ximgproc.createRightMatcher(matcher).compute(right, left)
        found = weighted.filter(matcher.compute(left, right), left, disparity_map_right=back)
        return "SGBM of eight paths, WLS", found / 16, weighted.getConfidenceMap().astype(np.float64)
    there = matcher.compute(left, right) / 16
    back = _matcher(cv2, labels, least).compute(*(np.ascontiguousarray(one[:, ::-1]) for one in (right, left)))[:, ::-1] / 16
    at = (np.arange(left.shape[1]) - np.rint(there).astype(int)).clip(0, left.shape[1] - 1)
    good = (there >= least) & (np.abs(there - np.take_along_axis(back, at, 1)) <= 1)
    return "SGBM of eight paths, both ways, filled", _filled(np.where(good, there, np.nan)), None


def _filled(disparity: np.ndarray) -> np.ndarray:
    """Each pixel that is NaN as the nearest that is not on the left or the right of it, the smaller one; rows of none: 0."""
    ways = []
    for flip in (slice(None), slice(None, None, -1)):
        row = disparity[:, flip]
        at = np.maximum.accumulate(np.where(np.isfinite(row), np.arange(row.shape[1]), 0), 1)
        ways.append(np.take_along_axis(row, at, 1)[:, flip])
    return np.nan_to_num(np.fmin(*ways))
