"""A picture without its noise, and with its holes filled."""
