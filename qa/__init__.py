"""Quality assurance beyond the tests: fault injection, mutation testing and fuzzing.

stress/     random settings, inputs and faults, compared with controls and with NumPy
mutants/    small changes of the code, and whether the tests notice them
fuzz/       the text parsers, given arbitrary bytes
"""
