"""Calibration: probabilities from recorded margins and outcomes."""
