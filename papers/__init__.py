"""Five papers about Passive-Aggressive learning, reproduced: `python -m papers`."""
