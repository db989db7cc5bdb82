"""What samples say: estimates, uncertainty, convergence, calibration. Nothing is run, drawn or written here."""
