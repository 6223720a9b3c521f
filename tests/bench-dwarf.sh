#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What the debug information of a large program costs (`make bench DWARF=FILE`): the index of
# names and the scan for counted types against one visit of every DIE by libdw, and one
# struct looked up against gdb's ptype.
#
# The debug information in FILE (an executable, shared object or debug file with DWARF, like
# a kernel's vmlinux) becomes that of a small program, so that the rest of the audit costs next
# to nothing.  What is compared is processor time; a median of 3.
#
# usage: bench-dwarf.sh BUILD FILE [STRUCT]
set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
file=$2
struct=${3-}
work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-bench.XXXXXX")
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT

# Makes $work/debug/.build-id/... with the DWARF of $file, and a core of the program.
transplant() {
	local section added='' id folder

	cat >"$work/program.c" <<-'END'
		#include <stdio.h>
		#include <unistd.h>
		int main(void) { puts("READY"); fflush(stdout); for (;;) pause(); }
	END
	${CC:-cc} -O1 -Wl,--build-id -o "$work/program" "$work/program.c" &&
		objcopy --only-keep-debug "$work/program" "$work/bare" &&
		objcopy --decompress-debug-sections --only-keep-debug "$file" "$work/whole" || return
	for section in $(readelf -SW "$work/whole" | grep -o ' \.debug_[a-z_]*' | sort -u); do
		objcopy -O binary --only-section="$section" \
			--set-section-flags "$section=alloc" "$work/whole" "$work/$section" || return
		added="$added --add-section $section=$work/$section"
	done
	id=$(readelf -n "$work/program" | sed -n 's/.*Build ID: //p')
	folder=$work/debug/.build-id/${id:0:2}
	mkdir -p "$folder"
	objcopy $added "$work/bare" "$folder/${id:2}.debug" || return
	debug=$folder/${id:2}.debug
	rm -f "$work"/.debug_* "$work/whole"
	strip "$work/program"
	"$work/program" >"$work/said" </dev/null &
	pid=$!
	until grep -qs READY "$work/said"; do sleep 0.05; done
	"$build/tests/tools/coremaker" "$pid" "$work/core" || return
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	pid=
}

# measured NAME COMMAND...: processor seconds and MB at most, the median of three runs.
measured() {
	local name=$1

	shift
	for run in 1 2 3; do
		( TIMEFORMAT='%U %S'
		time "$@" >/dev/null 2>&1 ) 2>&1 | awk '{ print $1 + $2 }'
	done | sort -n | sed -n 2p >"$work/$name"
	printf '%-34s %8.2f s\n' "$name" "$(cat "$work/$name")"
}

ratio() { # NAME NAME
	awk -v a="$(cat "$work/$1")" -v b="$(cat "$work/$2")" -v what="$1 / $2" \
		'BEGIN { if (b > 0) printf "%-34s %8.2f\n", what, a / b }'
}

transplant || { echo "the debug information of $file cannot be taken over" >&2; exit 1; }
cat >"$work/empty.yaml" <<'END'
version: 1
name: empty
END
"$build/tests/tools/dievisit" "$debug" || exit 1
measured visit "$build/tests/tools/dievisit" "$debug"
measured index "$build/refinspect" --infer=none --profile="$work/empty.yaml" \
	--debug-dir="$work/debug" "$work/core"
measured scan "$build/refinspect" --debug-dir="$work/debug" "$work/core"
ratio index visit
ratio scan visit
if [ -n "$struct" ]; then
	measured ptype gdb -nx -batch -ex "ptype struct $struct" "$debug"
	ratio ptype index
fi
"$build/refinspect" --debug-dir="$work/debug" "$work/core" >/dev/null 2>&1 &
pid=$!
most=0
while kill -0 "$pid" 2>/dev/null; do
	for each in $pid $(pgrep -P "$pid"); do
		now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$each/status" 2>/dev/null)
		[ "${now:-0}" -le "$most" ] || most=$now
	done
	sleep 0.05
done
pid=
echo "memory at most, the mapped files included: $((most / 1024)) MB"
