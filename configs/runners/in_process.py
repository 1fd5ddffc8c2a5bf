"""One process for everything.

A process per task would import OpenCompass, which takes longer than all the work of a recorded run, once per task. A
config without `infer` and `eval` gets OpenCompass' own runners, and --max-num-workers counts.

The partitioner makes `-r` safe after a run that was stopped: see docs/reliability.md.
"""

from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from opencompass_traj.resume import ResumingPartitioner

infer = dict(
    partitioner=dict(type=ResumingPartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=ResumingPartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLEvalTask)),
)
