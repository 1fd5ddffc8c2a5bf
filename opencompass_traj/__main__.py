"""`python -m opencompass_traj`: the command line."""

import sys

from opencompass_traj.command_line import main

if __name__ == '__main__':
    sys.exit(main())
