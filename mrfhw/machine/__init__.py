"""What one machine is: configuration, words, registers, addresses, latencies, manifest. Nothing of fields, gateware or hosts."""
