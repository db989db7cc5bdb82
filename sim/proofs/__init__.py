"""Properties of parts of the gateware, proven for every input and for ever by induction (`python -m sim.proofs`)."""
