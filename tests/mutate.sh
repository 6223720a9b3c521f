#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes cores of the large sound fixtures and has tests/mutate edit one word of
# them at a time; before that, sees that a wrong expectation makes it fail.
#
# usage: mutate.sh [--trials=N] [--seed=N] BUILD
set -u
trials=100 seed=1
while [ $# -gt 1 ]; do
	case $1 in
	--trials=*) trials=${1#*=} ;;
	--seed=*) seed=${1#*=} ;;
	*) echo "mutate.sh: no option $1" >&2; exit 2 ;;
	esac
	shift
done
build=$1
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
. "$(dirname "$0")/core-lib.sh"

# Spoils fixture $1 in the ways that must give each of the codes $2; further
# arguments are options.
mutate() {
	local name=$1 codes=$2
	shift 2

	echo "== $name"
	if ! make_core "$name"; then
		echo "$name: no core"
		echo "0 passed, 1 failed, 0 skipped"
		return 1
	fi
	"$build/tests/mutate/mutate" --self-test --trials=1 --seed="$seed" "$@" "$work/$name" &&
		"$build/tests/mutate/mutate" --trials="$trials" --seed="$seed" \
			--require="$codes" "$@" "$work/$name"
}

status=0
codes=bad-count,broken-link,list-loop,dead-member,wrong-group,orphan,count-mismatch
codes=$codes,surplus,deficit,unreachable
mutate many "bad-magic,bad-type,$codes" || status=1
mutate many-plain "$codes" --profile="$fixtures/many-plain.yaml" || status=1
exit $status
