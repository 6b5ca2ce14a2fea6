"""Small faults put into the code one by one, to see whether the tests notice.

``python -m qa.mutants --jobs 2`` samples faults over all modules of ``src/aggro`` and ``core``,
always the same for the same code, runs the tests that should notice each, and writes
``survivors.md``.

    mutant.py         a fault: where it is, what it changes, a name that lasts
    python_sites.py   faults in Python, found in the syntax tree
    cpp_sites.py      faults in C++, found in the text
    cpp_build.py      … all of them as switches in one build
    sample.py         how many of each module
    trial.py          the tests of one fault
    report.py         the table, and the survivors with their reasons
    tests.toml        which tests should notice faults in which module
    reasons.toml      why a survivor does not matter
"""
