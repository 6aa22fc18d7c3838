"""`python -m linedex_server`: the same as the console script `linedex`."""

from __future__ import annotations

import sys

from linedex_server.cli import main

sys.exit(main())
