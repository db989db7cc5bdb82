"""Picture files and arrays into greys, and back. Nothing of labels or fields."""
