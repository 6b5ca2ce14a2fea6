"""Study of model selection: one pass over real data, compared with tuned C and other libraries.

``python -m studies.accuracy`` runs what is not yet in the cache and writes docs/studies/tuning.md.
"""
