"""One process for everything.

A process per task would import OpenCompass, which takes longer than all the work of a recorded run, once per task. A
config without `infer` and `eval` gets OpenCompass' own runners, and --max-num-workers counts.
"""

from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

infer = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLEvalTask)),
)
