"""cocotb benches, models of cells and of what surrounds a machine. Not installed; nothing of mrfhw uses it."""
