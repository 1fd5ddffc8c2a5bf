"""T-Eval, English and Chinese, from ./data/teval: its own numbers unchanged, and the trajectory metrics beside them.

The planning sets need T-Eval's encoders (all-mpnet-base-v2 and thenlper/gte-large-zh), from the local cache or the hub.
"""

from mmengine.config import read_base

with read_base():
    from .datasets.teval import teval_datasets as datasets
    from .models.openai_compatible import openai_compatible_models as models
    from .summarizers.teval import summarizer

work_dir = './outputs/teval'
