"""Options and pictures, from files or arrays, into a checked job of an application. No command line; nothing is run."""
