"""Six recorded agents of the demo: their answers come from files, and nothing is inferred."""

from opencompass_traj.model import RecordedAgent

recorded_demo_models = [
    dict(
        abbr=name,
        type=RecordedAgent,
        # Your own recordings: the path of a .jsonl or .json file, and the golden file that it answers.
        path=f'package:opencompass_traj/data/demo/agents/{name}.jsonl',
        tasks='package:opencompass_traj/data/demo/tasks.jsonl',
        max_out_len=2048,
        batch_size=1,
        run_cfg=dict(num_gpus=0),
    )
    for name in ('exact', 'reordered', 'planner', 'roundabout', 'careless', 'looping')
]
