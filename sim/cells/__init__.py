"""Synthesized netlists on models of their cells: `models` says which of a family's are Yosys' and which are here."""
