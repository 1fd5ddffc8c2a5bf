"""`python -m opencompass_traj`: the command line."""

import sys

from opencompass_traj.command_line import script

if __name__ == '__main__':
    sys.exit(script('python -m opencompass_traj'))
