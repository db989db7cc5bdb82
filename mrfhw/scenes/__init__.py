"""Scenes of our own making whose true answers are known everywhere. Published pictures are read from where the user has them."""

from mrfhw.scenes.denoising import DenoisingScene, denoising_scene, write_denoising_scene
from mrfhw.scenes.motion import MotionScene, motion_scene, write_motion_scene
from mrfhw.scenes.segmentation import SegmentationScene, segmentation_scene, write_segmentation_scene
from mrfhw.scenes.stereo import Scene, stereo_scene, write_scene

__all__ = ["DenoisingScene", "MotionScene", "Scene", "SegmentationScene", "denoising_scene", "motion_scene", "segmentation_scene",
           "stereo_scene", "write_denoising_scene", "write_motion_scene", "write_scene", "write_segmentation_scene"]
