"""What a command's exit code means, the same for all commands."""

from typing import Final

GOOD: Final = 0
FAULTS_FOUND: Final = 1
WRONG_CALL: Final = 2
# `EX_SOFTWARE` of sysexits.h. Python's own code for an error, 1, would say that the answer is no.
UNFORESEEN: Final = 70
# What a shell shows for a process that was stopped by Ctrl-C.
INTERRUPTED: Final = 130

ALWAYS: Final = """\
  70   not done: an error that nobody foresaw, shown with where it arose; please report it
  130  stopped by Ctrl-C"""
"""What every command's list of its codes ends with."""

EXPLAINED: Final = f"""\
exit codes:
  0    done, and all is well
  1    done, and the answer is no: the gate failed, or faults were found
  2    not done: the arguments are wrong, or the input cannot be read
{ALWAYS}"""
