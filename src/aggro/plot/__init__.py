"""Pictures, drawn when asked for: matplotlib is imported by the functions that draw."""
