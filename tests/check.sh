#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test steps one after the other and sums what they counted.
# usage: check.sh LOG_DIR STEP...     each STEP is `NAME=COMMAND`
#
# A step says what it counted in lines `N passed, N failed, N skipped` or in
# cmocka's own; a step that fails without counting is one failure, and a step
# that succeeds without counting anything is one too: it tested nothing.
set -u
logs=$1
shift
# what a step starts by make has no part in the outer make's job server
MAKEFLAGS=$(printf '%s' "${MAKEFLAGS-}" | sed 's/ *-j[0-9]*\( \|$\)/ /; s/ *--jobserver-[a-z]*=[^ ]*//g')
export MAKEFLAGS
mkdir -p "$logs"
passed=0
failed=0
skipped=0
broken=

count() {
	awk '
		/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; s += $5 }
		/^\[  PASSED  \] [0-9]+ test/ { p += $4 }
		/^\[  FAILED  \] [0-9]+ test/ { f += $4 }
		/^\[  SKIPPED \] [0-9]+ test/ { s += $4 }
		END { print p + 0, f + 0, s + 0 }' "$1"
}

# What says why a step failed: of the lines that tell of failures, the last ones; without any such
# line, the log's last ones.  What counts failures that there are none of is no such line.
reasons() {
	grep -nE '[Ff]ail|FAIL|ERROR|[Ee]rror:|must give|unexpected|^    |not ok|^kept:|only [0-9]+ trials' "$1" |
		grep -vE ' 0 failed' | tail -n 12 | cut -c 1-400 >"$1.reasons"
	[ -s "$1.reasons" ] || tail -n 6 "$1" | cut -c 1-400 >"$1.reasons"
	sed 's/^/    /' "$1.reasons"
	rm -f "$1.reasons"
}

for step; do
	name=${step%%=*}
	command=${step#*=}
	log=$logs/$name.log
	start=$(date +%s)
	sh -c "$command" >"$log" 2>&1 </dev/null
	status=$?
	set -- $(count "$log")
	p=$1 f=$2 s=$3
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
	elif [ "$status" -eq 0 ] && [ $((p + f + s)) -eq 0 ]; then
		echo "the step counted no test" >>"$log"
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-14s %6d passed %4d failed %4d skipped %5d s\n' "$name" "$p" "$f" "$s" \
		$(($(date +%s) - start))
	if [ "$f" -gt 0 ]; then
		broken="$broken $name"
		echo "---- end of $log"
		tail -n 60 "$log"
		echo "----"
	fi
done

# again, and last: where only the end of all this is kept, it is enough
for name in $broken; do
	echo "failed: $name ($logs/$name.log)"
	reasons "$logs/$name.log"
done
[ -z "$broken" ] || echo "failed:$broken"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
