"""Many settings learned in one pass: axes, data, results."""
