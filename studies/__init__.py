"""Studies behind the documentation: the papers reproduced, and accuracy on real data."""
