"""Two agents, their runs recorded as OpenAI chat messages with outcome, tokens and seconds. Nothing is inferred."""

from opencompass_traj.model import RecordedAgent

recorded_runs_models = [
    dict(
        abbr=abbr,
        type=RecordedAgent,
        # Your own runs: a .jsonl file with a run a line, or a folder with a file a run, named by the task's id.
        path=f'package:opencompass_traj/data/demo/recorded/{runs}',
        tasks='package:opencompass_traj/data/demo/recorded/tasks.jsonl',
        max_out_len=2048,
        batch_size=1,
        run_cfg=dict(num_gpus=0),
    )
    for abbr, runs in (('direct', 'direct.jsonl'), ('detour', 'detour'))
]
