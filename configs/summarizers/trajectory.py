"""The trajectory rows first, for every dataset of the config; `metrics=[…]` chooses others."""

from opencompass_traj.summarizer import TrajectorySummarizer

summarizer = dict(type=TrajectorySummarizer)
