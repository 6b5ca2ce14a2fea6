"""Five papers about Passive-Aggressive learning, reproduced: `python -m studies.papers`."""
