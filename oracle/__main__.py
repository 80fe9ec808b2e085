"""``python -m oracle`` is the command ``manifest-oracle``."""

import sys

from oracle.cli import main

sys.exit(main())
