#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The workload (fixtures/perf_target.c) in several sizes and seeds: what is
# reported must be exactly what was planted.  Then the same with wrong truths,
# each of which must be told.
#
# usage: workload.sh BUILD [N...]       N: objects (default 100000)
#
# Each case is one test; the last line is `N passed, N failed, N skipped`.
set -u
build=$1
shift
profile=$(cd "$(dirname "$0")/../fixtures" && pwd)/perf_target.yaml
refinspect=${REFINSPECT:-$build/refinspect}
work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-workload.XXXXXX")
pid= passed=0 failed=0
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT

# Writes core and truth of a workload; arguments are the workload's.
make_core() {
	local waited=0

	: >"$work/pid"
	"$build/fixtures/O2/perf_target" "$@" -i -o "$work/truth" >"$work/pid" </dev/null &
	pid=$!
	until [ -s "$work/pid" ]; do
		kill -0 "$pid" 2>/dev/null && [ $waited -lt 3000 ] || return 1
		sleep 0.02
		waited=$((waited + 1))
	done
	"$build/tests/tools/coremaker" "$pid" "$work/core" || return 1
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	pid=
}

compare() {
	"$build/tests/tools/compare_workload" "$1" "$work/report" "$status" >"$work/differences" 2>&1
}

try() {
	if ! make_core "$@"; then
		echo "perf_target $*: no core"
		failed=$((failed + 1))
		return 1
	fi
	timeout 300 "$refinspect" --profile="$profile" --format=json --core="$work/core" \
		>"$work/report" 2>"$work/stderr"
	status=$?
	if compare "$work/truth"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "perf_target $*:"
		head -n 20 "$work/stderr" "$work/differences"
	fi
}

# The last report with a truth that sed has spoiled.
must_differ() {
	sed "$1" "$work/truth" >"$work/wrong"
	compare "$work/wrong"
	if [ $? = 1 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "self-test: $1 was not told"
	fi
}

for objects in "${@:-100000}"; do
	try "$objects" -s 1 -k 0
	try "$objects" -s 2 -k 1
	try "$objects" -s 3 -k 32
	try "$objects" -s 4 -k 200
	try "$objects" -s 1 -k 4
done
must_differ '/^leaked_ref/{x;s/^/x/;/^x$/{x;d};x}'
must_differ 's/^leaked_ref/missing_ref/'
must_differ 's/^\(missing_ref buf\) .*/\1 0x10/'
must_differ 's/^\(broken_prev buf .*\)[0-9a-f]$/\18/'
must_differ 's/^dead_on_list/off_list/'
must_differ 's/^\(cycle buf [^ ]*\) .*/\1 0x10/'
must_differ '/^off_list/d'
must_differ '/^unreferenced_block/d'
must_differ 's/^objects .*/objects 99999/'
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
