"""Run the study.

``python -m studies.accuracy [--quick] [--sets a9a,letter] [--fresh] [--report]``
"""

from __future__ import annotations

import argparse

from studies.accuracy import cells, report
from studies.accuracy.data import ORDERS, fresh, listed

QUICK = ("a1a", "sms-spam", "usps", "concrete", "abalone")


def main() -> None:
    """Run missing cells, then write the table and the figure."""
    parser = argparse.ArgumentParser(prog="python -m studies.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="five sets, one order; print only")
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--fresh", action="store_true", help="sets that no choice was made on")
    parser.add_argument("--methods", help="names, separated by commas")
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--folder", default=cells.ROOT / "build" / "accuracy", help="cache of cells"
    )
    parser.add_argument("--again", action="store_true", help="forget the cells asked for first")
    parser.add_argument(
        "--report", action="store_true", help="only write the report from finished cells"
    )
    args = parser.parse_args()
    known = list(QUICK if args.quick else fresh() if args.fresh else listed())
    names = args.sets.split(",") if args.sets else known
    every = report.FRESH_METHODS if args.fresh else cells.METHODS
    methods = args.methods.split(",") if args.methods else list(every)
    orders = range(1 if args.quick else args.orders)
    if args.again:
        cells.forget(args.folder, names, methods)
    if not args.report:
        cells.run(args.folder, names, methods, orders, args.jobs)
    write = report.write_fresh if args.fresh else report.write
    write(args.folder, names, into_docs=not args.quick and not args.sets)


if __name__ == "__main__":
    main()
