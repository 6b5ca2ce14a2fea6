"""Look for a case that fails: ``python -m qa.stress --minutes 60 --jobs 2``."""

import argparse
import sys

from qa.stress.check import compose
from qa.stress.search import Search, told


def main():
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m qa.stress", description=__doc__)
    parser.add_argument("--seed", type=int, help="run the case of this seed alone")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to look")
    parser.add_argument("--cases", type=int, help="how many cases, in place of a time")
    parser.add_argument("--start", type=int, help="the first seed; by the clock if not given")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--most", type=int, default=20, help="failures to show before giving up")
    options = parser.parse_args()
    if options.seed is None:
        return 1 if Search(options).run() else 0
    text = told(options.seed)
    print(text or f"{compose(options.seed)}\nfound: nothing")
    return 1 if text else 0


if __name__ == "__main__":
    sys.exit(main())
