#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How long the audit of the workload (fixtures/perf_target.c) takes, stage by
# stage, against a pure read of the same core in the same run.
#
# usage: bench.sh [--runs=N] BUILD N...        N: objects
#
# Times are medians (default of 5 runs), with the core in the page cache and each
# run of the audit next to one of the read.  Seconds differ from machine to machine
# and with what else runs there: the ratios are what may be compared.
set -u
export LC_ALL=C
runs=5
while [ $# -gt 1 ]; do
	case $1 in
	--runs=*) runs=${1#*=} ;;
	*) break ;;
	esac
	shift
done
build=$1
shift
profile=$(cd "$(dirname "$0")/../fixtures" && pwd)/perf_target.yaml
refinspect=${REFINSPECT:-$build/refinspect}
tools=$build/tests/tools
work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-bench.XXXXXX")
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT

make_core() { # N
	: >"$work/said"
	"$build/fixtures/O2/perf_target" "$1" -i >"$work/said" </dev/null &
	pid=$!
	until [ -s "$work/said" ]; do
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
	"$tools/coremaker" "$pid" "$work/core" || return 1
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	pid=
}

# The median of numbers, one a line.
median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

measure() { # N
	local n=$1 size read name

	make_core "$n" || return 1
	size=$(stat -c %s "$work/core")
	rm -f "$work/reads" "$work/times" "$work/runs"
	for ((i = 0; i <= runs; i++)); do # the first one warms up
		"$tools/pureread" "$work/core" >"$work/read" || return 1
		"$tools/measure" "$work/run" "$refinspect" --timings --profile="$profile" \
			--core="$work/core" >"$work/report" 2>"$work/stderr"
		if [ $? != 1 ]; then
			cat "$work/stderr"
			return 1
		fi
		[ $i -gt 0 ] || continue
		cat "$work/read" >>"$work/reads"
		cat "$work/stderr" >>"$work/times"
		tail -n 1 "$work/run" >>"$work/runs"
	done
	read=$(cut -d ' ' -f 1 "$work/reads" | median)
	printf '\n%d objects, core of %d bytes\n' "$n" "$size"
	printf '%-14s %10s %10s\n' '' seconds 'x read'
	row() {
		awk -v name="$1" -v t="$2" -v read="$read" \
			'BEGIN { printf "%-14s %10.4f %10.1f\n", name, t, t / read }'
	}
	row 'pure read' "$read"
	for name in $(awk '$1 == "stage" { print $2 }' "$work/times" | awk '!seen[$0]++'); do
		row "$name" "$(awk -v n="$name" '$1 == "stage" && $2 == n { print $3 }' \
			"$work/times" | median)"
	done
	row 'whole process' "$(cut -d ' ' -f 1 "$work/runs" | median)"
	row 'its CPU time' "$(cut -d ' ' -f 2 "$work/runs" | median)"
	cut -d ' ' -f 3 "$work/runs" | median | awk -v size="$size" -v n="$n" '{
		printf "peak RSS beyond the core: %.1f MiB, %.0f bytes per object\n",
			($1 - size) / 1048576, ($1 - size) / n }'
}

for n in "${@:-100000}"; do
	measure "$n" || exit 1
done
