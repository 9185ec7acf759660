#!/usr/bin/env bash
# Build the wheel, install it beside the real host in a fresh environment, and run the suite against it from a folder
# in which the checkout cannot be imported.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$folder/dist" .
wheel=$(ls "$folder"/dist/canon_ops-*.whl)
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel[dev]"
"$folder/venv/bin/python" -m pip check
cp -r tests scripts examples "$folder/"
sed -n '/^\[tool.pytest.ini_options\]/,/^\[tool.importlinter\]/p' pyproject.toml | sed '$d' | sed 's/^pythonpath.*/pythonpath = ["."]/' > "$folder/pyproject.toml"
cd "$folder"
scripts/in_memory.sh "$folder/venv/bin/python" -m pytest -n "${WORKERS:-auto}" --dist worksteal -m "not long and not checkout" -p no:cacheprovider
