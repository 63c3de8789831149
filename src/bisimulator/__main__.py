"""`python -m bisimulator`: the command line."""

import sys

from bisimulator.cli.app import main

sys.exit(main())
