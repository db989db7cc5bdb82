"""What tells the tiles what to do: registers, scheduler, offset table, temperature. No site's data pass through it."""
