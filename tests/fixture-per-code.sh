#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every check has a fixture that expects one finding of its code.
# usage: fixture-per-code.sh
set -eu
cd "$(dirname "$0")/.."
passed=0
failed=0

codes=$(sed -n 's/^\t\.code = "\([a-z-]*\)",$/\1/p' inspector/check/check_*.c | sort)
for code in $codes; do
	if grep -q "fixture_expect\(_if\)\?(.*\"$code\"" fixtures/*.c; then
		passed=$((passed + 1))
	else
		echo "no fixture expects $code"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
