#!/usr/bin/env bash
# Builds the wheel, installs it into a new environment, and evaluates from an empty folder with the configs in it.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet build
# From a copy, so that nothing is left in the working tree.
mkdir "$folder/source"
(cd "$repository" && git ls-files -z | tar --null -T - -c) | tar -x -C "$folder/source"
"$folder/venv/bin/python" -m build --wheel --outdir "$folder/dist" "$folder/source"
"$folder/venv/bin/pip" install --quiet -c "$repository/constraints.txt" "$(echo "$folder"/dist/*.whl)[demo]"
mkdir "$folder/empty"
cd "$folder/empty"
cat > eval_mine.py <<'CONFIG'
from mmengine.config import read_base

with read_base():
    from opencompass_traj.configs.eval_traj import datasets, eval, infer, summarizer
    from opencompass_traj.configs.models.recorded_demo import recorded_demo_models as models
work_dir = './outputs/mine'
CONFIG
"$folder/venv/bin/opencompass" eval_mine.py | tee log
grep -q '^trajectory-demo .* trajectory_score .* 100.00 ' log
ls outputs/mine/*/summary/*.html
"$folder/venv/bin/opencompass-traj" gate outputs/mine --min trajectory_score=1
echo 'the wheel works'
