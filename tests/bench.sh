#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How long the audit of the workload (fixtures/perf_target.c) takes, stage by
# stage, against a pure read of the same core in the same run; with two threads and
# with one; and against gdb: loading the core, a census in its Python, its `find`.
#
# usage: bench.sh [--runs=N] BUILD WORKLOAD...
#
# A workload is N (objects), N+M (and M MiB of ballast: memory that points nowhere),
# either with :gdb behind it for the comparison with a census in gdb's Python, or :find
# for that of `find ADDR` with gdb's.
#
# Times are medians (default of 5 runs; 3 of gdb's census), with the core in the page
# cache and all that is compared next to each other in each run.  Seconds differ from
# machine to machine and with what else runs there: the ratios are what may be compared,
# and where other work runs too, those of CPU times (against the read's CPU time) alone.
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
here=$(cd "$(dirname "$0")" && pwd)
profile=$here/../fixtures/perf_target.yaml
refinspect=${REFINSPECT:-$build/refinspect}
program=$build/fixtures/O2/perf_target
tools=$build/tests/tools
work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-bench.XXXXXX")
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT

make_core() { # ARGUMENT...
	: >"$work/said"
	"$program" "$@" -i >"$work/said" </dev/null &
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
	sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

# Median of column COLUMN of what `timed NAME` measured.
median_of() { # NAME COLUMN
	cut -d ' ' -f "$2" "$work/$1.runs" | median
}

# Runs a command; a line about it in NAME.runs, unless this run only warms up; what it says on
# stderr in NAME.stderr.
timed() { # ROUND NAME COMMAND...
	local round=$1 name=$2

	shift 2
	"$tools/measure" "$work/run" "$@" >"$work/$name.out" 2>"$work/$name.stderr"
	[ "$round" = 0 ] || tail -n 1 "$work/run" >>"$work/$name.runs"
}

audit() { # ROUND NAME OPTION...
	local round=$1 name=$2

	shift 2
	timed "$round" "$name" "$refinspect" --timings --profile="$profile" --core="$work/core" "$@"
	if [ "$(tail -n 1 "$work/run" | cut -d ' ' -f 4)" != 1 ]; then
		cat "$work/$name.stderr"
		return 1
	fi
	[ "$round" = 0 ] || cat "$work/$name.stderr" >>"$work/$name.stages"
}

# gdb's commands to find one address in all writable memory.
list_find_commands() { # ADDR
	readelf -lW "$work/core" | awk -v addr="$1" '
		$1 == "LOAD" && $5 !~ /^0x0+$/ && $0 ~ / RW/ {
			printf "find /g %s, +%s, (unsigned long)%s\n", $3, $5, addr }'
}

stage() { # NAME STAGE
	awk -v n="$2" '$1 == "stage" && $2 == n { print $3 }' "$work/$1.stages" | median
}

row() { # NAME SECONDS READ-SECONDS
	awk -v name="$1" -v t="$2" -v read="$3" \
		'BEGIN { printf "%-22s %10.4f %10.1f\n", name, t, t / read }'
}

ratio() { # NAME A B
	awk -v name="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%-58s %8.2f\n", name, a / b }'
}

print_stages() {
	local name read cpu

	read=$(median_of read 1)
	cpu=$(median_of read 2)

	printf '%-22s %10s %10s\n' '' seconds 'x read'
	row 'pure read' "$read" "$read"
	row 'its CPU time' "$cpu" "$cpu"
	for name in $(awk '$1 == "stage" { print $2 }' "$work/audit.stages" |
		awk '!seen[$0]++'); do
		row "$name" "$(stage audit "$name")" "$read"
	done
	row 'whole process' "$(median_of audit 1)" "$read"
	row 'its CPU time' "$(median_of audit 2)" "$cpu"
	row 'whole, one thread' "$(median_of single 1)" "$read"
	row 'its CPU time' "$(median_of single 2)" "$cpu"
	row 'discovery and census' "$(awk '$1 == "stage" { s[$2] = $3; if ($2 == "holders")
		print s["heap"] + s["population"] + s["holders"] }' "$work/audit.stages" | median)" \
		"$read"
}

# Per holder, against the first workload: 1 where the census is linear in what it finds.
print_scaling() {
	local holders each

	holders=$("$refinspect" --profile="$profile" --core="$work/core" --format=json |
		grep -o '"holders": [0-9]*' | head -n 1 | cut -d ' ' -f 2)
	each=$(awk -v t="$(stage single holders)" -v n="$holders" \
		'BEGIN { printf "%.3f", 1e9 * t / n }')
	first_each=${first_each:-$each}
	printf 'holders stage, one thread: %s ns for each of %s holders\n' "$each" "$holders"
	ratio 'the same, against the first workload' "$each" "$first_each"
}

compare() { # KIND
	local n=0 i addr

	[ "$1" != gdb ] || for ((i = 1; i <= (runs < 3 ? runs : 3); i++)); do
		timed $i census gdb -q -nx -batch -x "$here/gdb-census.py" "$program" "$work/core"
	done
	[ "$1" != gdb ] || ratio "census in gdb's Python / whole audit" \
		"$(median_of census 1)" "$(median_of audit 1)"
	[ "$1" = find ] || return 0
	addr=$(grep -o 'holders 0x[0-9a-f]*' "$work/audit.out" | head -n 1 | cut -d ' ' -f 2)
	list_find_commands "$addr" >"$work/find.gdb"
	for ((i = 0; i <= runs; i++)); do
		timed $i find gdb -q -nx -batch -x "$work/find.gdb" "$program" "$work/core"
		timed $i words "$refinspect" --core="$work/core" find "$addr"
	done
	ratio "gdb find, whole / find ADDR, whole" "$(median_of find 1)" "$(median_of words 1)"
	ratio 'the same, CPU time' "$(median_of find 2)" "$(median_of words 2)"
	row 'find ADDR' "$(median_of words 2)" "$(median_of read 2)"
}

measure() { # WORKLOAD
	local size kind=${1#*:} n=${1%%:*} mib

	mib=${n#*+}
	n=${n%+*}
	[ "$kind" != "$1" ] || kind=
	[ "$mib" != "$n" ] || mib=
	rm -f "$work"/*.runs "$work"/*.stages
	make_core "$n" ${mib:+-b $mib} || return 1
	size=$(stat -c %s "$work/core")
	for ((i = 0; i <= runs; i++)); do # the first one warms up
		timed $i read "$tools/pureread" "$work/core"
		audit $i audit && audit $i single --threads=1 || return 1
		timed $i load gdb -q -nx -batch "$program" "$work/core"
	done
	printf '\n%d objects%s, core of %d bytes\n' "$n" "${mib:+ and $mib MiB of ballast}" "$size"
	print_stages
	median_of audit 3 | awk -v size="$size" -v n="$n" '{
		printf "peak RSS beyond the core: %.1f MiB, %.0f bytes per object\n",
			($1 - size) / 1048576, ($1 - size) / n }'
	print_scaling
	ratio 'graph stage / all stages, one thread' \
		"$(stage single graph)" "$(stage single total)"
	ratio 'holders stage, one thread / all processors' \
		"$(stage single holders)" "$(stage audit holders)"
	ratio 'whole audit / gdb loading program and core' \
		"$(median_of audit 1)" "$(median_of load 1)"
	ratio 'the same, CPU time' "$(median_of audit 2)" "$(median_of load 2)"
	compare "$kind"
}

for workload in "${@:-100000}"; do
	measure "$workload" || exit 1
done
