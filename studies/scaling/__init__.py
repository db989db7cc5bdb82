"""Logic of machines by synthesis and their cycles by the twin, over meshes and lanes."""
