"""``aggro serve``: predict and learn over HTTP."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from aggro.cli.options import add_rows, add_variant, at_least, bounded, given, new_parser
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
WRITE_TOKEN_HELP = "token for calls that change the model (default: AGGRO_WRITE_TOKEN)"
HOURS = 1_000_000


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    description = "Predict and learn over HTTP. No acknowledged update is ever lost."
    parser = new_parser("serve", description, EXAMPLES)
    parser.add_argument("model", nargs="?", help=MODEL_HELP)
    add_rows(
        parser,
        ("--data", "DIR", str, "journal and snapshots (%(default)s)"),
        ("--backup", "FOLDER", str, "copy DIR, in use or not, to a new folder and exit"),
    )
    add_rows(
        parser.add_argument_group("access"),
        ("--host", "HOST", str, "address to listen on (%(default)s)"),
        ("--port", "PORT", at_least(0, 65535), "(%(default)s)"),
        ("--token-file", "FILE", str, "token for all calls (default: AGGRO_TOKEN)"),
        ("--write-token-file", "FILE", str, WRITE_TOKEN_HELP),
        ("--no-token", "serve other machines without a token"),
    )
    add_rows(
        parser.add_argument_group("storage"),
        ("--keep", "N", at_least(0), "predictions without a label to store (%(default)s)"),
        ("--keep-hours", "H", bounded(0, HOURS), "hours to store them (%(default)s)"),
        ("--ids", "N", at_least(1), "ids of learned updates to store (%(default)s)"),
        ("--snapshot-every", "N", at_least(1), "updates between two snapshots (%(default)s)"),
    )
    add_variant(parser)
    most = f"maximum number of features (default {MAX_FEATURES})"
    add_rows(
        parser.add_argument_group("new models"),
        ("--max-features", "N", at_least(1, 2**31 - 1), most),
        ("--probability", "answer calibrated probabilities"),
    )
    kept = Retention()
    parser.set_defaults(
        data="aggro-data",
        host="127.0.0.1",
        port=8080,
        keep=kept.predictions,
        keep_hours=kept.seconds / 3600,
        ids=kept.ids,
        snapshot_every=kept.snapshot_examples,
        probability=None,
    )
    return parser


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
