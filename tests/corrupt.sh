#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Has tests/tools/corrupt damage some small cores and executables: by a plan (the end of the
# file, headers, notes, the allocator's records, pointers, DWARF; see tests/tools/damage.h), then
# at random.  Each of the thousand runs must end by itself, with a status of its own, in its time
# and with its memory.
#
# usage: corrupt.sh [--trials=N] [--every=N] [--seed=N] [--keep-failed=DIR] BUILD
set -u
trials=60 seed=1 every=1 keep=
while [ $# -gt 1 ]; do
	case $1 in
	--trials=*) trials=${1#*=} ;;
	--every=*) every=${1#*=} ;; # of what is planned
	--seed=*) seed=${1#*=} ;;
	--keep-failed=*) keep=$1 ;;
	*) echo "corrupt.sh: no option $1" >&2; exit 2 ;;
	esac
	shift
done
build=$1
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
. "$(dirname "$0")/core-lib.sh"
status=0 runs=0
limits=--max-memory=512M # time: see corrupt.c

# WAY FILE OPTION...: damages the file, which the options name by a last `@`.
corrupt() {
	local way=$1 file=$2

	shift 2
	runs=$((runs + 1))
	"$build/tests/tools/corrupt" $keep --trials="$trials" --seed=$((seed * 100 + runs)) \
		$way "$file" -- \
		"$build/refinspect" $limits "$@" || status=1
}

# KIND FILE OPTION...: the same, all damage of this kind.
plan() {
	local kind=$1 file=$2

	shift 2
	"$build/tests/tools/corrupt" $keep --plan=$kind --every=$every "$file" -- \
		"$build/refinspect" $limits "$@" || status=1
}

for name in surplus nested plain-cycle heap-damage inferred; do
	if ! make_core $name; then
		echo "$name: no core"
		echo "0 passed, 1 failed, 0 skipped"
		exit 1
	fi
done
cp "$build/fixtures/O2/surplus" "$work/program"
cp "$build/fixtures/O2/plain-cycle" "$work/plain-program"
for kind in truncate headers notes chunks pointers; do
	plan $kind "$work/surplus" @
done
plan pointers "$work/plain-cycle" --profile="$fixtures/plain.yaml" @ types
plan dwarf "$work/plain-program" --profile="$fixtures/plain.yaml" -e @ "$work/plain-cycle"
corrupt --never-clean "$work/surplus" @
corrupt --never-clean "$work/nested" --format=json @
corrupt '' "$work/heap-damage" @ leaks
# a copied word may well lead to what was leaked, whose counts are right: clean is no mistake then
corrupt '' "$work/plain-cycle" --profile="$fixtures/plain.yaml" @
corrupt --never-clean "$work/program" -e @ "$work/surplus"
# debug information alone says what is counted there
cp "$build/fixtures/O2/inferred" "$work/program"
corrupt '' "$work/program" -e @ "$work/inferred" inferred
exit $status
