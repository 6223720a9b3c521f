#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs the fuzz targets in tests/fuzz/ for a while on seeds that are made here: cores of
# fixtures, small executables, profiles.
#
# usage: fuzz.sh [--keep=DIR] BUILD SECONDS [TARGET...]
#
# With a build that has libFuzzer (see CONTRIBUTING.md) each target gets its share of the SECONDS;
# without, it reads its seeds alone.  Findings are run once more and judged: one whose innermost
# frames, those of the C library and the sanitizer aside, lie in a library that is not ours (libdw,
# libelf) is reported and counted as skipped, every other one as a failure.  The last line is
# `N passed, N failed, N skipped`.
set -u
keep=
case ${1-} in
--keep=*) keep=${1#*=}; shift ;;
esac
build=$(cd "$1" && pwd) seconds=$2
shift 2
source=$(cd "$(dirname "$0")/.." && pwd)
targets=${*:-core heap profile dwarf}
. "$source/tests/core-lib.sh"
passed=0 failed=0 skipped=0
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}symbolize=1:allocator_may_return_null=1"
export UBSAN_OPTIONS=print_stacktrace=1

give_up() {
	echo "$*"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

make_seeds() {
	local name file

	mkdir -p "$work/seeds/core" "$work/seeds/heap" "$work/seeds/profile" "$work/seeds/dwarf"
	for name in surplus nested plain-cycle heap-damage; do
		make_core $name || give_up "$name: no core"
		ln "$work/$name" "$work/seeds/core/"
		ln "$work/$name" "$work/seeds/heap/"
		for file in O0 O2; do
			cp "$build/fixtures/$file/$name" "$work/seeds/dwarf/$name-$file" ||
				give_up "$name: not built"
		done
	done
	# headers and notes alone are faster
	for name in surplus nested; do
		head -c 16384 "$work/$name" >"$work/seeds/core/$name-start"
	done
	for file in "$source"/inspector/profiles/*.yaml "$source"/fixtures/*.yaml; do
		cp "$file" "$work/seeds/profile/"
	done
	# the examples of the documentation
	awk -v folder="$work/seeds/profile" '
		/^    version: 1/ { n++; out = folder "/example" n }
		out && /^(    |$)/ { print substr($0, 5) >out; next }
		{ out = "" }' "$source/docs/profile.md" "$source/README.md"
}

# What the log of one input says: ours, theirs or nothing.
judge() { # LOG
	grep -qE 'ERROR: |runtime error|SUMMARY|abort' "$1" || { echo nothing; return; }
	awk '
		/^ *#[0-9]+ / {
			if ($0 ~ /\/(libc|libpthread|ld-linux[^\/]*|libgcc_s)\.so|compiler-rt|__asan|__interceptor|__sanitizer|\/fuzz_[a-z]+\+0x[0-9a-f]+\) \(BuildId.*asan|in (raise|abort|malloc|calloc|realloc|free|memcpy|memmove|strlen|str[a-z]*)( |$)/) next
			print ($0 ~ /\/lib(dw|elf|z|zstd|lzma|bz2)[-.0-9]*\.so/ ? "theirs" : "ours")
			exit
		}' "$1" | grep . || echo ours
}

judge_findings() { # TARGET FOLDER
	local target=$1 file verdict summary seen=$work/summaries log=$work/log.again

	: >"$seen"
	for file in "$2"/*; do
		[ -e "$file" ] || continue
		timeout -s KILL 120 "$build/tests/fuzz/fuzz_$target" -timeout=20 -rss_limit_mb=2048 \
			"$file" >"$log" 2>&1
		verdict=$(judge "$log")
		summary=$(grep -m1 -E '^SUMMARY' "$log")
		[ -z "$keep" ] || { mkdir -p "$keep"; cp "$file" "$keep/$target-$(basename "$file")"; }
		case $(basename "$file") in
		slow-unit-*) continue ;; # a machine that is busy, or one that timeout-* tells
		esac
		# one line and one count for each cause
		grep -Fqx -- "$summary" "$seen" && continue
		echo "$summary" >>"$seen"
		echo "$target: $(basename "$file"): $verdict: $summary"
		case $verdict in
		theirs) skipped=$((skipped + 1)) ;;
		nothing) ;; # not the input's fault: a time-out under load
		*) failed=$((failed + 1)); tail -n 40 "$log" ;;
		esac
	done
}

# In processes of its own, so that it goes on behind a finding.
fuzz() { # TARGET SECONDS
	local target=$1 folder=$work/found/$1

	mkdir -p "$folder" "$work/corpus/$target"
	"$build/tests/fuzz/fuzz_$target" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 \
		-ignore_ooms=1 -timeout=20 -rss_limit_mb=2048 -max_len=1048576 -seed=1 \
		-max_total_time="$2" -artifact_prefix="$folder/" \
		"$work/corpus/$target" "$work/seeds/$target" >"$work/log" 2>&1 ||
		{ tail -n 40 "$work/log"; failed=$((failed + 1)); }
	grep -E '^#[0-9]+: cov' "$work/log" | tail -n 1 | sed "s/^/$target: /"
	judge_findings "$target" "$folder"
}

make_seeds
[ -z "$keep" ] || { mkdir -p "$keep" && cp -r "$work/seeds" "$keep/"; }
count=$(echo $targets | wc -w)
for target in $targets; do
	program=$build/tests/fuzz/fuzz_$target
	# that it takes its seeds comes first: a target that refuses all finds nothing
	if ! "$program" "$work/seeds/$target"/* >"$work/log" 2>&1; then
		tail -n 40 "$work/log"
		failed=$((failed + 1))
		continue
	fi
	before=$failed
	if "$program" -help=1 2>&1 | grep -q max_total_time; then
		fuzz "$target" $((seconds / count > 0 ? seconds / count : 1))
	else
		echo "$target: no libFuzzer in this build; the seeds alone"
	fi
	[ $failed != $before ] || passed=$((passed + 1))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
