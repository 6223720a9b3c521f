#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into an empty folder, looks at what is there, and removes it again.
# usage: install.sh BUILD.  The last line is `N passed, N failed, N skipped`.
set -u
build=$1
root=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-test.XXXXXX")
trap 'rm -rf "$root" "$root.log" "$root.text"' EXIT
passed=0 failed=0 skipped=0

check() {
	local what=$1

	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $what"
	fi
}

installed() { [ -f "$root/usr/$1" ]; }
in_manual() { grep -q -e "$1" "$root.text"; }

check 'make install' ${MAKE:-make} --no-print-directory install BUILD="$build" PREFIX=/usr \
	DESTDIR="$root" >"$root.log" 2>&1
tool=$root/usr/bin/refinspect
manual=$root/usr/share/man/man1/refinspect.1
check 'the tool runs' "$tool" --version >/dev/null
for file in include/refobj.h share/refinspect/refcheck.gdb share/man/man1/refinspect.1 \
	share/doc/refinspect/findings.md share/doc/refinspect/commands.md; do
	check "$file is there" installed "$file"
done
sed 's/\\-/-/g; s/\\f[BIR]//g' "$manual" >"$root.text"
for name in $("$tool" help | sed '/^$/,$d; s/ .*//'); do
	check "the manual has $name" in_manual "^$name\( .*\|\)$"
done
for code in $("$tool" help codes | sed '/^$/,$d; s/ .*//'); do
	check "the manual has $code" in_manual "^$code ("
done
for option in $("$tool" --help | grep -o -e '--[a-z-]*' | sort -u); do
	check "the manual has $option" in_manual "$option"
done
if command -v groff >/dev/null; then
	check 'the manual is sound' [ -z "$(groff -man -ww -Tutf8 "$manual" 2>&1 >/dev/null)" ]
else
	skipped=$((skipped + 1))
fi
: >"$root/usr/share/doc/refinspect/of-the-user"
check 'make uninstall' ${MAKE:-make} --no-print-directory uninstall BUILD="$build" PREFIX=/usr \
	DESTDIR="$root" >"$root.log" 2>&1
check 'only what is not ours is left' [ "$(find "$root" -type f)" = \
	"$root/usr/share/doc/refinspect/of-the-user" ]
rm "$root/usr/share/doc/refinspect/of-the-user"
for turn in second third; do
	check "a $turn make uninstall" ${MAKE:-make} --no-print-directory uninstall \
		BUILD="$build" PREFIX=/usr DESTDIR="$root" >"$root.log" 2>&1
	check 'it complains of nothing' [ -z "$(grep -v '^rm -f' "$root.log")" ]
done
check 'no folder of ours is left' [ ! -e "$root/usr/share/doc/refinspect" ]
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
