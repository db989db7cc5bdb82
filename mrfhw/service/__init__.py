"""Runs that many ask for and that wait: a queue on the disk, workers, HTTP and its client. How a run is done is in applications."""
