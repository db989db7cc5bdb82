"""Names, units and sentences of the measures of quality."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["METRICS", "describe", "worse_than_none"]

# By the name that a Truth gives: (what it is, its unit and of what, decimals).
METRICS = {
    "bad_1": ("bad 1 px", "% of the pixels of known truth", 2),
    "bad_2": ("bad 2 px", "% of the pixels of known truth", 2),
    "epe": ("mean error", "px over the pixels of known truth", 3),
    "epe_mean": ("mean error of the posterior mean", "px", 3),
    "epe_median": ("mean error of the interpolated median", "px", 3),
    "epe_flow": ("mean error of the motion between pixels", "px", 3),
    "epe_least": ("mean error of the nearest labels", "px", 3),
    "vi": ("variation of information of the segments", "bits, averaged over the segmentations", 3),
    "vi_classes": ("variation of information of the classes", "bits, averaged over the segmentations", 3),
    "vi_single": ("variation of information of one single segment", "bits, averaged over the segmentations", 3),
    "psnr": ("PSNR", "dB", 2),
    "psnr_mean": ("PSNR of the posterior mean", "dB", 2),
    "psnr_input": ("PSNR of the input", "dB", 2),
}


def describe(name: str, value: float) -> str:
    """A measure as a line of text, such as "bad 1 px: 11.50 % of the pixels of known truth"."""
    what, unit, decimals = METRICS.get(name, (name.replace("_", " "), "", 4))
    return f"{what}: {value:.{decimals}f} {unit}".strip()


def worse_than_none(metrics: Mapping[str, float | None]) -> str | None:
    """One line where segments are farther from the truth than the undivided picture is; None for others."""
    found, single = metrics.get("vi"), metrics.get("vi_single")
    if found is None or single is None or found <= single:
        return None
    return (f"the segments are worse than none: their variation of information is {found:.3f} bits, and that of one single segment "
            f"{single:.3f}")
