"""`python -m mrfhw`, the same as `mrfhw`."""

from mrfhw.cli import main

main(prog_name="mrfhw")
