"""The command line's verbs: options, checks, what is said. What they do is done in the other rooms."""
