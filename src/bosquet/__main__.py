"""``python -m bosquet``."""

import sys

from bosquet.cli import main

sys.exit(main())
