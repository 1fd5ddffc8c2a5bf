#!/usr/bin/env bash
# Runs the tests that need OpenCompass with the oldest one that setup.py allows, in a new environment.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
oldest=$(sed -n "s/.*'opencompass>=\([0-9.]*\),.*/\1/p" "$repository/setup.py")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# Its mmengine imports pkg_resources, which setuptools has until 80, and which warns of its own end.
{ sed '/^opencompass==/d' "$repository/constraints.txt" && echo "opencompass==$oldest" && echo 'setuptools<81'; } \
    > "$folder/constraints.txt"
# From a copy, so that nothing is left in the working tree. Not editable: its mmengine finds no configs then.
mkdir "$folder/source"
(cd "$repository" && git ls-files -z | tar --null -T - -c) | tar -x -C "$folder/source"
if [ -d "$repository/../shared" ]; then
    ln -s "$(cd "$repository/../shared" && pwd)" "$folder/shared"
fi
cd "$folder/source"
"$folder/venv/bin/pip" install --quiet -c "$folder/constraints.txt" setuptools '.[demo,test]'
"$folder/venv/bin/pip" list 2> /dev/null | grep -E '^(opencompass|mmengine-lite|torch|transformers) '
"$folder/venv/bin/python" -m pytest -q -m host -W 'ignore:pkg_resources is deprecated' "$@"
echo "works with OpenCompass $oldest"
