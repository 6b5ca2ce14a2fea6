"""``aggro serve``: a server that learns while it predicts."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from aggro.cli.options import add_variant, at_least, between, given, new_parser
from aggro.serve.limits import MAX_FEATURES, Keeping

EXAMPLES = """
aggro serve PA-I --C auto
aggro serve model.aggro --port 9000 --data /var/lib/aggro
aggro serve PA-I --host 0.0.0.0 --token-file token
aggro serve --backup saved --data /var/lib/aggro
"""
MODEL = "a model file, or the name of a new variant; may be left out once DIR holds a model"
HOURS = 1_000_000


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("serve", "Predict and learn over HTTP; nothing that was accepted is lost.",
                        EXAMPLES)  # fmt: skip
    parser.add_argument("model", nargs="?", help=MODEL)
    parser.add_argument(
        "--data", default="aggro-data", metavar="DIR", help="journal and snapshots (%(default)s)"
    )
    parser.add_argument(
        "--backup",
        metavar="FOLDER",
        help="serve nothing: copy DIR to a new folder, whether a server is using it or not",
    )
    group = parser.add_argument_group("who may ask")
    group.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    group.add_argument("--port", type=at_least(0, 65535), default=8080, help="(%(default)s)")
    group.add_argument(
        "--token-file", metavar="FILE", help="token for all calls (default: AGGRO_TOKEN)"
    )
    group.add_argument(
        "--write-token-file",
        metavar="FILE",
        help="token for calls that change the model (default: AGGRO_WRITE_TOKEN)",
    )
    group.add_argument(
        "--no-token", action="store_true", help="serve other machines without a token"
    )
    _add_keeping(parser)
    add_variant(parser)
    group = parser.add_argument_group("new models")
    group.add_argument("--max-features", type=at_least(1, 2**31 - 1), metavar="N",
                       help=f"features to keep (default {MAX_FEATURES})")  # fmt: skip
    group.add_argument("--probability", action="store_true", help="answer calibrated probabilities")
    return parser


def _add_keeping(parser: argparse.ArgumentParser) -> None:
    group, kept = parser.add_argument_group("what is kept"), Keeping()
    group.add_argument("--keep", type=at_least(0), metavar="N", default=kept.predictions,
                       help="predictions that wait for their truth (%(default)s)")  # fmt: skip
    group.add_argument("--keep-hours", type=between(0, HOURS), metavar="H",
                       default=kept.seconds / 3600,
                       help="… and for how long (%(default)s)")  # fmt: skip
    group.add_argument("--ids", type=at_least(1), metavar="N", default=kept.ids,
                       help="ids remembered after they were learned (%(default)s)")  # fmt: skip
    group.add_argument("--snapshot-every", type=at_least(1), metavar="N",
                       default=kept.snapshot_examples,
                       help="examples from one snapshot to the next (%(default)s)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Serve until a signal says stop."""
    try:
        from aggro.serve import start
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("aggro"):
            raise
        raise ModuleNotFoundError(
            f"aggro serve needs {error.name}: pip install 'aggro[serve]'", name=error.name
        ) from error
    logging.basicConfig(format="aggro serve: %(levelname)s: %(message)s", stream=sys.stderr)
    if args.backup is not None:
        return _back_up(args)
    keeping = Keeping(
        predictions=args.keep,
        seconds=args.keep_hours * 3600,
        ids=args.ids,
        snapshot_examples=args.snapshot_every,
    )
    plan = start.Plan(
        model=args.model,
        data=Path(args.data),
        host=args.host,
        port=args.port,
        token=start.token_from("AGGRO_TOKEN", args.token_file),
        write_token=start.token_from("AGGRO_WRITE_TOKEN", args.write_token_file),
        open=args.no_token,
        params=_params(args),
        keeping=keeping,
    )
    start.run(plan, _say)
    print("stopped: all that was accepted is in the journal and in a snapshot", flush=True)
    return 0


def _back_up(args: argparse.Namespace) -> int:
    from aggro.serve.backup import backup

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
    own = {"seed": args.seed, "max_features": args.max_features}
    params |= {name: value for name, value in own.items() if value is not None}
    return params | ({"probability": True} if args.probability else {})


def _say(address: str, server: Any) -> None:
    service = server.application.service
    found = f"{service.version:,} examples learned, {service.replayed:,} of them replayed"
    print(f"serving {address} ({found}); data in {service.folder}", flush=True)
