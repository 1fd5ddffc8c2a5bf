"""The command line: `python -m opencompass_traj COMMAND`, or `opencompass-traj COMMAND`.

One module per command, with `describe(parser)` and `run(given)`; only the module of the command that was asked for is
imported, so that none pays for what another needs.
"""

from opencompass_traj.command_line.program import main, script

__all__ = ['main', 'script']
