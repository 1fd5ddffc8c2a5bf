"""An agent behind an OpenAI-compatible API that plans live. The key is read from $OPENAI_API_KEY."""

from opencompass.models import OpenAISDK

openai_compatible_models = [
    dict(
        abbr='my-agent',
        type=OpenAISDK,
        path='my-model',  # the model's name at the server
        openai_api_base='http://localhost:8000/v1',
        key='ENV',
        # T-Eval's prompts put the tools into a system message: the template must have that role.
        meta_template=dict(
            round=[dict(role='HUMAN', api_role='HUMAN'), dict(role='BOT', api_role='BOT', generate=True)],
            reserved_roles=[dict(role='SYSTEM', api_role='SYSTEM')],
        ),
        query_per_second=1,
        max_out_len=2048,
        max_seq_len=32768,
        batch_size=1,
        temperature=0,
        run_cfg=dict(num_gpus=0),
    )
]
