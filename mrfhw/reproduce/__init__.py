"""The published design's tables and figures, computed by this project (`mrfhw reproduce`). Nothing else uses it."""
