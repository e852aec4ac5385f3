"""Connect Four on any board from 4x4 to 16x16, with or without a forbidden cell."""
