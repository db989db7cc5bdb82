"""How several jobs share one chip: who is loaded next, and where. Policies and their simulation; nothing is sampled here."""
