#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every check that makes findings of its own has a fixture that expects one.
# usage: fixture-per-code.sh
set -eu
cd "$(dirname "$0")/.."
passed=0
failed=0

# The codes of the checks that run; one without `run` is only told beside others.
codes=$(awk '
	/\.code = "/ { split($0, part, "\""); code = part[2] }
	/\.run = NULL/ { code = "" }
	/\.run = / && code { print code; code = "" }' inspector/check/*.c | sort)
for code in $codes; do
	if grep -q "fixture_expect(\"$code\"" fixtures/*.c; then
		passed=$((passed + 1))
	else
		echo "no fixture expects $code"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
