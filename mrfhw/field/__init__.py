"""A Markov random field, how long it is sampled, and what comes of it. Nothing of machines, pictures or reports."""
