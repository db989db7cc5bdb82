"""Links to boards and their protocol; none yet."""
