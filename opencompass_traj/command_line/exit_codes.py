"""What a command's exit code means, the same for all commands."""

from typing import Final

GOOD: Final = 0
FAULTS_FOUND: Final = 1
WRONG_CALL: Final = 2
# What a shell shows for a process that was stopped by Ctrl-C.
INTERRUPTED: Final = 130

EXPLAINED: Final = """\
exit codes:
  0    done, and all is well
  1    done, and the answer is no: the gate failed, or faults were found
  2    not done: the arguments are wrong, or the input cannot be read
  130  stopped by Ctrl-C"""
