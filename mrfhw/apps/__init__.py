"""Applications: what turns a user's data into a `Problem`, and a result into an answer."""
