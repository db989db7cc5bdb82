"""What a machine costs: memories, multipliers, logic, cycles, bytes through a link. Nothing is measured here."""
