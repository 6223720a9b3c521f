#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Has tests/tools/corrupt damage some small cores and an executable.
#
# usage: corrupt.sh [--trials=N] [--seed=N] BUILD
set -u
trials=60 seed=1
while [ $# -gt 1 ]; do
	case $1 in
	--trials=*) trials=${1#*=} ;;
	--seed=*) seed=${1#*=} ;;
	*) echo "corrupt.sh: no option $1" >&2; exit 2 ;;
	esac
	shift
done
build=$1
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
. "$(dirname "$0")/core-lib.sh"
status=0 runs=0

# WAY FILE OPTION...: damages the file, which the options name by a last `@`.
corrupt() {
	local way=$1 file=$2

	shift 2
	runs=$((runs + 1))
	"$build/tests/tools/corrupt" --trials="$trials" --seed=$((seed * 100 + runs)) \
		$way "$file" -- \
		"$build/refinspect" --time-limit=20 "$@" || status=1
}

for name in surplus nested plain-cycle heap-damage; do
	if ! make_core $name; then
		echo "$name: no core"
		echo "0 passed, 1 failed, 0 skipped"
		exit 1
	fi
done
cp "$build/fixtures/O2/surplus" "$work/program"
corrupt --never-clean "$work/surplus" @
corrupt --never-clean "$work/nested" --format=json @
corrupt '' "$work/heap-damage" @ leaks
corrupt --never-clean "$work/plain-cycle" --profile="$fixtures/plain.yaml" @
corrupt --never-clean "$work/program" -e @ "$work/surplus"
exit $status
