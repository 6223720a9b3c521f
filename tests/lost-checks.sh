#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Exit status 0 can be lost: for each row of the table of checks, a fixture that expects
# its code is run against refinspect without that row (tests/tools/check_less), and its
# test must turn red; with the whole table it must be green.  So no check can be deleted,
# or left out of the table, unnoticed.
#
# usage: lost-checks.sh BUILD
set -u
export LC_ALL=C
build=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-lost.XXXXXX")
trap 'rm -rf "$work"' EXIT
export BUILD=$build WORK=$work ROOT=$root

# The fixture that is to be red without code $1: the one that is called so, or else the
# first that expects it in every build.
fixture_of() {
	{
		(cd "$root/fixtures" && ls -- "$1.c" "plain-$1.c" 2>/dev/null)
		(cd "$root/fixtures" && grep -l "fixture_expect(.*\"$1\"" -- *.c *.cc) |
			grep -v '^many\|^perf_target\|^demo'
	} | head -n 1 | sed 's/\.[a-z]*$//'
}

# One row of the table; its result goes to $WORK/CODE.
try_code() {
	local code=$1 fixture=$2 without log

	for without in none "$code"; do
		log=$WORK/$code.$without
		cat >"$log.program" <<-SCRIPT
			#!/bin/sh
			exec "$BUILD/tests/tools/check_less" --without=$without "\$@"
		SCRIPT
		chmod +x "$log.program"
		REFINSPECT=$log.program bash "$ROOT/tests/run-fixtures" --variant=O2 --use=live \
			--jobs=1 --twin=faulty "$BUILD" "$fixture" >"$log" 2>&1
		echo $? >>"$log"
	done
	if [ "$(tail -n 1 "$WORK/$code.none")" != 0 ]; then
		echo "fail $code: $fixture is red though no check is missing"
		cat "$WORK/$code.none"
	elif ! grep -q "missing: .*$code" "$WORK/$code.$code"; then
		echo "fail $code: $fixture does not miss it"
		cat "$WORK/$code.$code"
	else
		echo "pass $code"
	fi >"$WORK/result.$code"
}
export -f try_code

codes=$("$build/refinspect" help codes | awk 'NF > 2 && $2 ~ /^(note|warning|error)$/ { print $1 }')
for code in $codes; do
	fixture=$(fixture_of "$code")
	if [ -z "$fixture" ]; then
		echo "fail $code: no fixture expects it" >"$work/result.$code"
	else
		printf '%s %s\n' "$code" "$fixture"
	fi
done | xargs -r -L 1 -P "$(nproc)" bash -c 'try_code "$0" "$1"'

for row in "$work"/result.*; do
	grep -v '^pass' "$row"
done
passed=$(cat "$work"/result.* | grep -c '^pass')
failed=$(cat "$work"/result.* | grep -c '^fail')
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" = "$(echo "$codes" | wc -l)" ] && [ "$passed" -ge 20 ]
