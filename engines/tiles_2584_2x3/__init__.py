"""2584 on a board of two rows and three columns, small enough to be solved exactly."""
