#!/bin/sh
# Run a command whose temporary files are kept in memory, where there is plenty: tests write and sync many thousands of
# small files. Usage: scripts/in_memory.sh COMMAND [ARGUMENT...]
#
# TEST_TMP=FOLDER keeps them in that folder instead. They stay on disk where /dev/shm is missing, forbids programs, or
# has less than four gigabytes left.
set -eu
if [ -n "${TEST_TMP:-}" ]; then
    mkdir -p "$TEST_TMP"
    TMPDIR=$TEST_TMP
    export TMPDIR
    exec "$@"
fi
free_kb=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${free_kb:-0}" -gt 4194304 ] || exec "$@"
folder=$(mktemp -d /dev/shm/t.XXX 2>/dev/null) || exec "$@" # short: the path of a socket has 108 bytes
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
printf '#!/bin/sh\n' > "$folder/program"
chmod +x "$folder/program"
if "$folder/program" 2>/dev/null; then TMPDIR=$folder; export TMPDIR; fi
"$@"
