"""Sweeps: many settings learned in one pass."""
