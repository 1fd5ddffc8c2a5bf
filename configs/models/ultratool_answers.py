"""GPT-4's and GPT-3.5's own answers to UltraTool's tasks, as they came: fenced, cut off, with prose, half JSON."""

from opencompass_traj.model import RecordedAgent

ultratool_models = [
    dict(
        abbr=f'{model}-recorded',
        type=RecordedAgent,
        path=[f'./data/ultratool/{language}_{model}.jsonl' for language in ('en', 'zh')],
        # The model's answer stands under `init output`.
        fields=dict(id=None, prediction='init output'),
        tasks=[f'./data/ultratool/{language}_gpt-4.jsonl' for language in ('en', 'zh')],
        task_fields=dict(id=None, query='data.question', ground_truth='data.reference'),
        max_out_len=2048,
        batch_size=1,
        run_cfg=dict(num_gpus=0),
    )
    for model in ('gpt-4', 'gpt-3.5')
]
