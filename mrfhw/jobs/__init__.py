"""What is asked of a run: a field with its machine, what its labels stand for, and what is known of the answer."""
