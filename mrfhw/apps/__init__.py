"""Applications: a user's data into a `Problem`, and labels back into an answer. Nothing of how it is solved."""
