"""Any field, as a Problem or from a file."""
