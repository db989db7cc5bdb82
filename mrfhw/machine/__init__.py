"""What one machine is: its configuration, registers, addresses and latencies. Nothing of fields, gateware or hosts."""
