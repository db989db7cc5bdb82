"""What is asked: a field with its machine, what its labels stand for, what is known of the answer. Who samples is in backends."""
