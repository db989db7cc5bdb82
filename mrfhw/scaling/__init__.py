"""`mrfhw scaling`. Logic of machines by synthesis and their cycles by the model, over meshes and lanes. Nothing else uses it."""
