"""The command line's verbs, one module an application, and what they have in common."""
