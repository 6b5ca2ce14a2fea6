"""Model selection while learning: candidates, their evaluation, and the best one."""
