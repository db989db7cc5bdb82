"""Running a problem: the backends that solve it and the files that hold the answer."""
