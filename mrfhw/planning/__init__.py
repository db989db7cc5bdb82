"""Which stage of a request runs where, in how many instances, and how often a picture ends. Nothing is sampled for its answer."""
