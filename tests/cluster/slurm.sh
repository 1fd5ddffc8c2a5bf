#!/usr/bin/env bash
# Runs the demo on a real Slurm of this one machine, whole and in shards, and compares the results with local ones.
#
#     tests/cluster/slurm.sh [--quick] [FOLDER]
#
# To be run as root on Debian or Ubuntu (it installs slurm-wlm and munge where they are absent), with `opencompass` of
# the virtual environment on the PATH. FOLDER keeps the runs and Slurm's logs; without it they are removed at the end.
# Takes some minutes on two cores, for each of OpenCompass' tasks is a process that imports all of it; --quick leaves
# out the whole demo, and takes a third of the time.
set -euo pipefail

repository=$(cd "$(dirname "$0")/../.." && pwd)
. "$repository/tests/cluster/slurm_node.sh"
partition=traj
quick=

if [ "${1:-}" = --quick ]; then
    quick=yes
    shift
fi
work=${1:-}
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'stop_slurm; rm -rf "$work"' EXIT
else
    mkdir -p "$work"
    work=$(cd "$work" && pwd)
    trap stop_slurm EXIT
fi
# A run that is left over from a former call would be read in place of the new one.
rm -rf "$work"/{local,whole,sharded,slurm,tasks,cache}
mkdir -p "$work/tasks"
# OpenCompass hands a task its config by a relative path.
cd "$work/tasks"
# All tasks share the vectors that the first run leaves, as on one machine by default.
export OPENCOMPASS_TRAJ_CACHE=$work/cache

run() {
    echo "== $1"
    shift
    if ! "$@" > "$work/last.log" 2>&1; then
        tail -50 "$work/last.log" >&2
        return 1
    fi
}

run 'installing Slurm where it is absent' install_slurm
run 'starting Slurm' start_slurm "$work/slurm" "$partition"
sinfo
run 'the demo, here' opencompass "$repository/configs/eval_traj.py" -w "$work/local"
on_slurm=(--slurm -p "$partition" --max-num-workers 2 --retry 0)
if [ -z "$quick" ]; then
    run 'the demo, on Slurm' opencompass "$repository/configs/eval_traj.py" "${on_slurm[@]}" -w "$work/whole"
fi
run 'two of its agents with the tasks in two shards, on Slurm' \
    opencompass "$repository/tests/cluster/sharded.py" "${on_slurm[@]}" -w "$work/sharded"
jobs=$(grep -c 'JobId=.* done' "$work/slurm/slurmctld.log")
echo "== Slurm ran $jobs jobs"
# One for each of OpenCompass' tasks, and one to see that the node answers.
[ "$jobs" -ge 8 ]
if [ -z "$quick" ]; then
    python "$repository/tests/cluster/compare.py" "$work/local" "$work/whole"
fi
python "$repository/tests/cluster/compare.py" "$work/local" "$work/sharded"
