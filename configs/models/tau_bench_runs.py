"""GPT-4o's recorded runs of tau-bench's airline tasks, in the file that also holds the golden actions."""

from opencompass_traj.model import RecordedAgent

tau_bench_models = [
    dict(
        abbr='gpt-4o-recorded',
        type=RecordedAgent,
        path='./data/tau_bench/gpt_4o_airline.jsonl',
        fields=dict(id=['task_id', 'trial']),
        tasks='./data/tau_bench/gpt_4o_airline.jsonl',
        task_fields=dict(id=['task_id', 'trial'], query='instruction', ground_truth='gold_actions'),
        max_out_len=2048,
        batch_size=1,
        run_cfg=dict(num_gpus=0),
    )
]
