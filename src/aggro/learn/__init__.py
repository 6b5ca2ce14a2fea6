"""What learns: the learner, its lanes and classes, races between settings, probabilities."""
