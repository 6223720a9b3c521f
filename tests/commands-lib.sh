# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of the command line: a scratch folder, fixtures and their cores, counted
# checks.  Sourced by bash scripts that have set `build` (a path from the root).

export LC_ALL=C TERM=dumb
unset NO_COLOR DEBUGINFOD_URLS
tools=$build/tests/tools
tool=$build/refinspect
ready_seconds=60
tool_seconds=120
passed=0 failed=0 skipped=0
children=

end_children() {
	for child in $children; do
		kill -KILL "$child" 2>/dev/null
		wait "$child" 2>/dev/null
	done
	children=
}

if [ -n "${keep-}" ]; then
	mkdir -p "$keep"
	work=$(cd "$keep" && pwd)
	trap end_children EXIT
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-test.XXXXXX")
	trap 'end_children; rm -rf "$work"' EXIT
fi
export HOME=$work XDG_STATE_HOME=

# start_fixture PROGRAM [ARGUMENT...]: waits until its state is reached; sets pid.
start_fixture() {
	local waited=0

	truth=$work/truth.$RANDOM

	: >"$truth"
	"$@" >"$truth" 2>/dev/null </dev/null &
	pid=$!
	children="$children $pid"
	until grep -q '^READY$' "$truth"; do
		if ! kill -0 "$pid" 2>/dev/null || [ $waited -ge $((ready_seconds * 50)) ]; then
			echo "$1 does not reach its state" >&2
			exit 1
		fi
		sleep 0.02
		waited=$((waited + 1))
	done
}

# start_fixture, then a core of the shape that the kernel writes.
make_core() {
	local core=$1

	shift
	start_fixture "$@"
	timeout $tool_seconds "$tools/coremaker" "$pid" "$core" >/dev/null || exit 1
}

pass() { passed=$((passed + 1)); }

# fail WHAT: with what the last run printed.
fail() {
	failed=$((failed + 1))
	echo "FAIL $1"
	head -n 8 "$work/out" "$work/err" 2>/dev/null | sed 's/^/    /'
}

# check WHAT CONDITION...: the condition is a command.
check() {
	local what=$1

	shift
	if "$@"; then
		pass
	else
		fail "$what"
	fi
}

# run ARGUMENT...: runs the tool; sets status, $work/out, $work/err.
run() {
	last="refinspect $*"
	timeout $tool_seconds "$tool" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
}

# run_for STATUS ARGUMENT...: a check that the tool ends with that status and says something,
# on stderr alone where the status is 2 and on stdout alone where not; but a listing that
# may be incomplete (status 3) has one line more on stderr, which says why.
run_for() {
	local wanted=$1

	shift
	run "$@"
	if [ "$status" -ne "$wanted" ]; then
		fail "$last: exit status $status, not $wanted"
	elif [ "$wanted" -eq 2 ] && { [ -s "$work/out" ] || [ ! -s "$work/err" ]; }; then
		fail "$last: wrong usage is told on stderr alone"
	elif [ "$wanted" -ne 2 ] && [ ! -s "$work/out" ] ||
		{ [ "$wanted" -eq 3 ] && grep -qv '^refinspect: could not check: ' "$work/err"; } ||
		{ [ "$wanted" -lt 2 ] && [ -s "$work/err" ]; }; then
		fail "$last: a report is written to stdout alone"
	else
		pass
	fi
}

says() { grep -q -e "$1" "$work/out"; }
complains() { grep -q -e "$1" "$work/err"; }
is_not() { ! "$@"; }

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
