#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Cores and programs of hostile sizes: what they claim or have thousands or millions of.  Each
# run must end by itself with a status of its own, within a limit of processor time and of
# memory that a cost which is quadratic in the size does not keep, and not say "clean" where
# it did not look.  The limits are generous: they tell a bad cost, not a slow machine.
#
# usage: hostile.sh BUILD
#
# The last line is `N passed, N failed, N skipped`.
set -u
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
. "$source/tests/core-lib.sh"
tools=$build/tests/tools
cpu_seconds=30 memory=1500M
passed=0 failed=0

# judged STATUSES PATTERN [OPTION...] CORE: the status is one of `1|3`, the pattern stands
# somewhere in the report, which may be wrapped.
judged() {
	local statuses=$1 pattern=$2 status

	shift 2
	(ulimit -t $cpu_seconds
	exec "$build/refinspect" --max-memory=$memory "$@") >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if echo "$status" | grep -Eqx "$statuses" &&
	   tr '\n' ' ' <"$work/out" | tr -s ' ' | grep -Eq "$pattern"; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	echo "failed: status $status, wanted $statuses with '$pattern': $what: $*"
	head -n 5 "$work/err"
	tail -n 15 "$work/out"
}

# core_of WHAT N: a core of the program in that state.
core_of() {
	what="$1 $2"
	rm -f "$work/core"
	printf '#!/bin/sh\nexec "%s" %s %s\n' "$work/target" "$1" "$2" >"$work/start"
	make_core_of core "$work/start" || { echo "no core of $what"; exit 1; }
}

# core_of_source: a core of the C program in $work/program.c.
core_of_source() {
	what=$1
	${CC:-cc} -std=gnu11 -g -O0 -w -o "$work/program" "$work/program.c" || exit 1
	make_core_of core "$work/program" || { echo "no core of $what"; exit 1; }
}

inflated() { # OPTION...
	what="inflate $*"
	"$tools/inflate" "$@" "$work/small" "$work/big" || exit 1
}

chmod +x "$work"
: >"$work/start"
chmod +x "$work/start"
${CC:-cc} -std=gnu11 -g -O0 -o "$work/target" "$source/tests/hostile/target.c" || exit 1
nodes=--profile=$source/tests/hostile/nodes.yaml

# ---- what the core claims --------------------------------------------------------------

core_of list 1000
mv "$work/core" "$work/small"
what=small
judged 0 'node 1000 1000 0 0 0 0 0' $nodes "$work/small"
inflated --threads=20000
judged '0|1|3' 'node 1000 1000' $nodes "$work/big"
judged '0|1|3' 'threads: 20001, the registers of all' $nodes "$work/big" coverage
inflated --modules=10000
judged '0|3' 'node 1000 1000' $nodes "$work/big"
inflated --modules=40000
judged 3 'more than 16384 mapped ELF objects' $nodes "$work/big" coverage
inflated --segments=200000
judged 0 'node 1000 1000' $nodes "$work/big"
# a few hundred kilobytes that claim ten gigabytes
inflated --copies=60000
judged 3 'segments overlap in the file; the memory of some was not used' "$work/big" coverage

# ---- what the program has --------------------------------------------------------------

core_of rho 200000
judged 1 'broken-link|list-loop' $nodes "$work/core"
core_of chain 100000
judged '1|3' 'node' $nodes "$work/core"
judged '1|3' 'node' "$work/core"
core_of nest 200000
judged 0 'node 200000 200000 0 0 0 0 0' "$work/core"
core_of table 10000000
judged 0 'node 1000 1000 0 0 0 0 0' "$work/core"
core_of frames 100000
judged 3 'stacks: 1024 frames; 0 unwound, 1 in part' "$work/core"
core_of star 200000
judged 0 'node 200001 200001 0 0 0 0 0' $nodes "$work/core"
core_of list 1000000
judged 0 'node 1000000 1000000 0 0 0 0 0' $nodes "$work/core"
rm -f "$work/core"

# ---- what its debug information has -----------------------------------------------------

tail='#include <stdio.h>
#include <unistd.h>
int main(void) { puts("READY"); fflush(stdout); for (;;) pause(); }'

# variables of as many types
awk -v tail="$tail" 'BEGIN {
	for (i = 0; i < 20000; i++)
		printf "struct s%d { int a%d; struct s%d *p; long x[3]; } v%d;\n",
			i, i % 7, i ? i - 1 : 0, i
	print tail
}' >"$work/program.c"
core_of_source 'types and variables'
judged 3 'none looks counted' "$work/core"

# counted types, more than a profile takes, with links between free objects
awk -v tail="$tail" 'BEGIN {
	for (i = 0; i < 20000; i++)
		printf "struct c%d { int refcount; struct c%d *p; struct c%d *free_next; } *v%d;\n",
			i, i ? i - 1 : 0, i, i
	print tail
}' >"$work/program.c"
core_of_source 'counted types'
judged 3 '18500 types that look counted are more than a profile takes' "$work/core"
judged 3 'c19' "$work/core" inferred

# pointers to pointers, and structs in structs
awk -v tail="$tail" 'BEGIN {
	print "struct n { int refcount; struct n *next; };\ntypedef struct n *p0;"
	for (i = 1; i < 20000; i++)
		printf "typedef p%d *p%d;\n", i - 1, i
	print "p19999 deep; struct t0 { struct n *n; };"
	for (i = 1; i < 1000; i++)
		printf "struct t%d { struct t%d inner; };\n", i, i - 1
	print "struct t999 nested; struct n *first;"
	print tail
}' >"$work/program.c"
core_of_source 'deep types'
judged 3 'no object' "$work/core"

echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
