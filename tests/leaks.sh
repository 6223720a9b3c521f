#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs the tool itself, built with the address and undefined-behaviour sanitizers, over a core of
# every fixture, over all bad input, and over a share of the damage that corrupt.sh does: it
# must not leak, nor do anything else that a sanitizer reports.
#
# usage: leaks.sh BUILD
#
# The last line is `N passed, N failed, N skipped`.
set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
. "$source/tests/core-lib.sh"
passed=0 failed=0 skipped=0

export ASAN_OPTIONS=detect_leaks=1
if ! "$build/refinspect" --version | grep -q 'for the sanitizer'; then
	echo "leaks.sh: $build is not built with SANITIZE=address,undefined"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi

try() { # NAME WORD...
	local name=$1 status

	shift
	timeout -s KILL 300 "$build/refinspect" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if grep -q 'Sanitizer\|runtime error' "$work/err" || ! [[ $status =~ ^[013]$ ]]; then
		failed=$((failed + 1))
		echo "failed: $name: status $status: refinspect $*"
		head -n 60 "$work/err"
	else
		passed=$((passed + 1))
	fi
}

for file in "$source"/fixtures/*.c "$source"/fixtures/*.cc; do
	name=$(basename "${file%.*}")
	case $name in
	perf_target) continue ;; # no fixture: the workload's program
	esac
	profile=()
	for yaml in "$source/fixtures/$name.yaml" "$source/fixtures/${name%%-*}.yaml"; do
		[ -e "$yaml" ] && profile=(--profile="$yaml") && break
	done
	if ! make_core "$name" 2>"$work/err"; then
		echo "failed: $name: no core of it"
		failed=$((failed + 1))
		[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
		pid=
		continue
	fi
	try "$name" ${profile[@]+"${profile[@]}"} "$work/$name"
	rm -f "$work/$name"
done

make_core surplus && for words in --format=json coverage types groups leaks 'group all_sessions' \
	profile help 'objects --format=json'; do
	try "$words" "$work/surplus" $words
done
printf 'types\ngroups\nleaks\nbogus\n\nquit\n' >"$work/lines"
"$build/refinspect" -i "$work/surplus" <"$work/lines" >"$work/out" 2>"$work/err"
if grep -q 'Sanitizer\|runtime error' "$work/err"; then
	failed=$((failed + 1))
	cat "$work/err"
else
	passed=$((passed + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
status=$failed
# These judge what is on stderr line by line, and so each report.
bash "$source/tests/bad-input.sh" "$build" || status=1
bash "$source/tests/corrupt.sh" --trials=4 --every=10 "$build" || status=1
[ "$status" = 0 ]
