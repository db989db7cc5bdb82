"""The accelerator in Amaranth: every part of the machine as its own component."""
