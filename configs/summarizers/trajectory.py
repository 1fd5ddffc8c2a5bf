"""The trajectory rows first, for every dataset of the config, with intervals, comparisons and the report beside them.

Options: `metrics=[…]` chooses other rows, `language='zh'` the report's language, `report=False` leaves it out, and
`gate=dict(min=dict(trajectory_score=80))` ends the command with exit code 1 where the run does not pass.
"""

from opencompass_traj.summarizer import TrajectorySummarizer

summarizer = dict(type=TrajectorySummarizer)
