"""The tiles together: links, trees, and the machine that they make with its control. Nothing of a board or a system on chip."""
