"""``python -m odl``."""

import sys

from odl.cli import main

sys.exit(main())
