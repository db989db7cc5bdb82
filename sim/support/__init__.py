"""What benches share: drivers, monitors, references, models of memories and links."""
