"""``aggro serve``: predict and learn over HTTP."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from aggro.cli.options import add_variant, at_least, bounded, given, new_parser
from aggro.serve.config import MAX_FEATURES, Plan, Retention, token_from

EXAMPLES = """
aggro serve
aggro serve model.aggro --port 9000 --data /var/lib/aggro
aggro serve PA-I --C 0.1 --host 0.0.0.0 --token-file token
aggro serve --backup saved --data /var/lib/aggro
"""
MODEL_HELP = (
    "a model file, a variant, or a class such as TextClassifier (default: the model in DIR, or a "
    "new StreamClassifier)"
)
HOURS = 1_000_000


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    description = "Predict and learn over HTTP. No acknowledged update is ever lost."
    parser = new_parser("serve", description, EXAMPLES)
    parser.add_argument("model", nargs="?", help=MODEL_HELP)
    parser.add_argument(
        "--data", default="aggro-data", metavar="DIR", help="journal and snapshots (%(default)s)"
    )
    parser.add_argument(
        "--backup", metavar="FOLDER", help="copy DIR, in use or not, to a new folder and exit"
    )
    _add_access(parser)
    _add_retention(parser)
    add_variant(parser)
    add = parser.add_argument_group("new models").add_argument
    add(
        "--max-features",
        type=at_least(1, 2**31 - 1),
        metavar="N",
        help=f"maximum number of features (default {MAX_FEATURES})",
    )
    add(
        "--probability",
        action="store_true",
        default=None,
        help="answer calibrated probabilities",
    )
    return parser


def _add_access(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("access").add_argument
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    add("--port", type=at_least(0, 65535), default=8080, help="(%(default)s)")
    add("--token-file", metavar="FILE", help="token for all calls (default: AGGRO_TOKEN)")
    add(
        "--write-token-file",
        metavar="FILE",
        help="token for calls that change the model (default: AGGRO_WRITE_TOKEN)",
    )
    add("--no-token", action="store_true", help="serve other machines without a token")


def _add_retention(parser: argparse.ArgumentParser) -> None:
    add, default = parser.add_argument_group("storage").add_argument, Retention()
    add(
        "--keep",
        type=at_least(0),
        metavar="N",
        default=default.predictions,
        help="predictions without a label to store (%(default)s)",
    )
    add(
        "--keep-hours",
        type=bounded(0, HOURS),
        metavar="H",
        default=default.seconds / 3600,
        help="hours to store them (%(default)s)",
    )
    add(
        "--ids",
        type=at_least(1),
        metavar="N",
        default=default.ids,
        help="ids of learned updates to store (%(default)s)",
    )
    add(
        "--snapshot-every",
        type=at_least(1),
        metavar="N",
        default=default.snapshot_examples,
        help="updates between two snapshots (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    try:
        from aggro.serve.server import run as run_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("aggro"):
            raise
        raise ModuleNotFoundError(
            f"aggro serve needs {error.name}: pip install 'aggro[serve]'", name=error.name
        ) from error
    logging.basicConfig(format="aggro serve: %(levelname)s: %(message)s", stream=sys.stderr)
    if args.backup is not None:
        return _back_up(args)
    retention = Retention(
        predictions=args.keep,
        seconds=args.keep_hours * 3600,
        ids=args.ids,
        snapshot_examples=args.snapshot_every,
    )
    plan = Plan(
        model=args.model,
        data=Path(args.data),
        host=args.host,
        port=args.port,
        token=token_from("AGGRO_TOKEN", args.token_file),
        write_token=token_from("AGGRO_WRITE_TOKEN", args.write_token_file),
        open=args.no_token,
        params=_params(args),
        retention=retention,
    )
    run_server(plan, report)
    print("stopped: all acknowledged updates are in the journal and in a snapshot", flush=True)
    return 0


def _back_up(args: argparse.Namespace) -> int:
    from aggro.serve.snapshots import backup

    if args.model is not None:
        raise ValueError(f"--backup needs no model; leave {args.model} out.")
    last, snapshot = backup(Path(args.data), Path(args.backup))
    print(f"{args.backup}: {last:,} updates of {args.data}, the newest snapshot has {snapshot:,}")
    return 0


def _params(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a new model that were given."""
    if args.float32:
        raise ValueError("aggro serve learns in double precision; leave --float32 out.")
    params = given(args)
    own = {name: vars(args)[name] for name in ("random_state", "max_features", "probability")}
    return params | {name: value for name, value in own.items() if value is not None}


def report(address: str, server: Any) -> None:
    """Print the address of a server that is about to start."""
    service = server.application.service
    found = f"{service.version:,} examples learned, {service.replayed:,} of them replayed"
    print(f"serving {address} ({found}); data in {service.folder}", flush=True)
