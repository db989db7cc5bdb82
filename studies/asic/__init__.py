"""A machine in standard cells: area, clock, activity and power (Section 3.5.1). Nothing is placed or routed."""
