"""Search for a case that fails: ``python -m qa.stress --minutes 60 --jobs 2``."""

import argparse
import sys

from qa.stress.cases import KINDS, compose
from qa.stress.search import Search, report


def main():
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m qa.stress", description=__doc__)
    parser.add_argument("--seed", type=int, help="run the case of this seed only")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to search")
    parser.add_argument("--cases", type=int, help="number of cases, instead of a time")
    parser.add_argument("--start", type=int, help="the first seed (default: from the clock)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--most", type=int, default=20, help="stop after this many failures")
    parser.add_argument("--only", choices=sorted(KINDS), help="cases of this kind only")
    options = parser.parse_args()
    if options.seed is None:
        return 1 if Search(options).run() else 0
    text = report(options.seed)
    print(text or f"{compose(options.seed)}\nfound: nothing")
    return 1 if text else 0


if __name__ == "__main__":
    sys.exit(main())
