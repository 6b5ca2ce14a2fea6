"""``python -m aggro.cli``: the command ``aggro``."""

import sys

from aggro.cli import main

sys.exit(main())
