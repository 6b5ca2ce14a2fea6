"""Does C need tuning? One pass over real data, untuned against tuned and against the peers.

``python -m studies.accuracy`` runs what is not yet in the cache and writes docs/studies/tuning.md.
"""
