"""What all trajectory datasets share: which columns are read, and how an agent is asked."""

from opencompass.openicl.icl_inferencer import ChatInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

trajectory_reader_cfg = dict(input_columns=['prompt'], output_column='ground_truth')

trajectory_infer_cfg = dict(
    prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{prompt}')])),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ChatInferencer, max_out_len=2048),
)
