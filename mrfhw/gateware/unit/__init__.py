"""A sampling unit (SPU): energies, random numbers, the draw. No memories of sites."""
