"""Models of cells that synthesis maps to: `models` says which of a family's are Yosys' and which are here."""
