"""From what users have, pictures or fields, to jobs, and from solutions to answers. The shell is in commands."""
