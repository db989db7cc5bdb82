"""The accelerator in Amaranth, each part a component with its latency. Nothing of files, hosts or models."""
