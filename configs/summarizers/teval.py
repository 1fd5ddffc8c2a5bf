"""The trajectory rows of T-Eval's planning sets first, then T-Eval's own table with its groups."""

from opencompass_traj.summarizer import TrajectorySummarizer

summarizer = dict(type=TrajectorySummarizer, based_on='opencompass.configs.summarizers.teval')
