"""Figures; matplotlib is imported only by the functions that draw."""
