"""Scenes of our own making whose true answers are known everywhere. Published pictures are read from where the user has them."""

from mrfhw.applications.denoising.scene import DenoisingScene, denoising_scene, write_denoising_scene
from mrfhw.applications.motion.scene import MotionScene, motion_scene, write_motion_scene
from mrfhw.applications.segmentation.scene import SegmentationScene, segmentation_scene, write_segmentation_scene
from mrfhw.applications.stereo.scene import Scene, stereo_scene, write_scene

__all__ = ["DenoisingScene", "MotionScene", "Scene", "SegmentationScene", "denoising_scene", "motion_scene", "segmentation_scene",
           "stereo_scene", "write_denoising_scene", "write_motion_scene", "write_scene", "write_segmentation_scene"]
