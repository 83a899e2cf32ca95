"""``python -m bosquet.cli``."""

import sys

from bosquet.cli import main

sys.exit(main())
