"""A field on a machine: where its sites lie, in which order they are visited, its windows and temperatures. Nothing is run here."""
