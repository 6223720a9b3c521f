#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, in C; the public one in C11 and in C++17 too.
# usage: check-headers.sh [COMPILER FLAGS...]
set -u
passed=0
failed=0

try() {
	if "$@"; then
		passed=$((passed + 1))
	else
		echo "check-headers: failed: $*" >&2
		failed=$((failed + 1))
	fi
}

for header in inspector/*/*.h; do
	try "${CC:-cc}" "$@" -fsyntax-only -x c "$header"
done
try "${CC:-cc}" -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c include/refobj.h
try "${CXX:-c++}" -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ include/refobj.h
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
