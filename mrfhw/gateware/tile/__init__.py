"""A tile (SPE): its memories, the switches to its neighbours, its sampling units. It decides nothing about what comes next."""
