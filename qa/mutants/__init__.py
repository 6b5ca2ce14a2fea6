"""Mutation testing: inject small faults one by one and check that a test fails.

``python -m qa.mutants --jobs 2`` draws a reproducible sample of faults from all modules of
``src/aggro`` and ``core``, runs the tests that should detect each, and writes ``survivors.md``.

    mutant.py         a fault: its location, its change and its stable id
    python_sites.py   faults in Python, found in the syntax tree
    cpp_sites.py      faults in C++, found in the text
    cpp_build.py      one build with all faults in C++ behind switches
    sample.py         the sample of faults
    trial.py          runs the tests of a fault
    report.py         the table, and the survivors with their reasons
    tests.toml        the tests that should detect faults in each module
    reasons.toml      reasons why survivors do not matter
"""
