#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks the direction of the floors: a file includes, and an object links to,
# its own floor and lower ones only; third-party headers stay where the design
# confines them.
# usage: check-floors.sh BUILD_DIR
set -u
build=$1
floors="base target debug heap profile census learn check report cli"
failures=0
checked=0

complain() {
	echo "check-floors: $*" >&2
	failures=$((failures + 1))
}

rank_of() {
	rank=0
	for floor in $floors; do
		rank=$((rank + 1))
		[ "$floor" = "$1" ] && { echo $rank; return; }
	done
	echo 0
}

# Includes: "floor/file.h" from inspector/FLOOR/.
for file in inspector/*/*.c inspector/*/*.h; do
	own=$(basename "$(dirname "$file")")
	own_rank=$(rank_of "$own")
	[ "$own_rank" -gt 0 ] || complain "$file lies on no floor"
	for target in $(sed -n 's|^#include "\([a-z]*\)/.*|\1|p' "$file" | sort -u); do
		checked=$((checked + 1))
		[ "$(rank_of "$target")" -le "$own_rank" ] || complain "$file includes $target/"
	done
	if grep '^#include "' "$file" | grep -qvE '^#include "([a-z]+/[a-z_0-9]+\.h|refobj\.h)"'; then
		complain "$file includes a header without its floor"
	fi
done

# Third-party headers: pattern, then where it may be included.
while read -r header allowed; do
	for file in $(grep -lE "^#include <$header" inspector/*/*.c inspector/*/*.h); do
		checked=$((checked + 1))
		echo "$file" | grep -qE "^inspector/($allowed)$" ||
			complain "$file includes <$header>"
	done
done <<END
(dwarf|libelf|gelf|elfutils/) debug/.*
bfd debug/corefile\.c
readline/ cli/prompt_line\.c
sys/ptrace target/live\.c
yaml profile/yaml_tree\.c
jansson report/json\.c
libsmartcols report/listing\.c
argp cli/options\.c
(seccomp|valgrind/) cli/confine\.c
END

# Symbols: which floor defines each, then who asks for it.
definitions=$(mktemp)
trap 'rm -f "$definitions"' EXIT
for floor in $floors; do
	for object in "$build/inspector/$floor"/*.o; do
		[ -e "$object" ] && nm -g --defined-only "$object" |
			awk -v rank="$(rank_of "$floor")" 'NF == 3 { print $3, rank }'
	done
done >"$definitions"
for floor in $floors; do
	for object in "$build/inspector/$floor"/*.o; do
		[ -e "$object" ] || continue
		checked=$((checked + 1))
		bad=$(nm -u "$object" | awk -v rank="$(rank_of "$floor")" \
			'NR == FNR { at[$1] = $2; next } ($2 in at) && at[$2] > rank { print $2 }' \
			"$definitions" -)
		[ -z "$bad" ] || complain "$object links upwards:" $bad
	done
done

# Below report/ nothing prints and nothing exits, except where memory has run out.
output='printf|fprintf|vprintf|vfprintf|dprintf|puts|fputs|putchar|fputc|putc|fwrite|perror|stdout|stderr|exit|_exit|abort'
for floor in base target debug heap profile census learn check; do
	for object in "$build/inspector/$floor"/*.o; do
		case $object in
		*'*.o' | */base/memory.o | */profile/yaml_tree.o) continue ;;
		esac
		checked=$((checked + 1))
		bad=$(nm -u "$object" | grep -owE "(__)?($output)(_chk)?(@.*)?" | tr '\n' ' ')
		[ -z "$bad" ] || complain "$object prints or exits: $bad"
	done
done

if [ "$failures" -gt 0 ]; then
	echo "0 passed, $failures failed, 0 skipped"
	exit 1
fi
echo "$checked passed, 0 failed, 0 skipped"
