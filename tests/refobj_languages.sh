#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# refobj.h must compile without a warning as strict C11 and as C++17 and later,
# with every compiler at hand, and work in C++.  Usage: refobj_languages.sh BUILD
set -eu
build=${1:?usage: refobj_languages.sh BUILD}
here=$(dirname "$0")
out=$build/tests/refobj_languages
mkdir -p "$out"
strict='-Wall -Wextra -Wshadow -pedantic -Werror'
runs=0

printf '#include "refobj.h"\nint main(void) { return 0; }\n' >"$out/empty.c"
for compiler in gcc clang; do
	command -v "$compiler" >/dev/null || continue
	for std in c11 c17 gnu11; do
		"$compiler" -std=$std $strict -Wstrict-prototypes -Wmissing-prototypes \
			-I"$here/../include" -o "$out/c" "$out/empty.c"
		"$out/c"
		runs=$((runs + 1))
	done
done
for compiler in g++ clang++; do
	command -v "$compiler" >/dev/null || continue
	for std in c++17 c++20; do
		"$compiler" -std=$std $strict -I"$here/../include" -o "$out/cxx" "$here/refobj_languages.cc"
		"$out/cxx"
		runs=$((runs + 1))
	done
done
if [ $runs = 0 ]; then
	echo "refobj_languages: no compiler" >&2
	exit 1
fi
echo "$runs passed, 0 failed, 0 skipped"
