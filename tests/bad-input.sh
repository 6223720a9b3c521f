#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What refinspect says of targets, profiles, options and outputs that it cannot
# use: the exact exit status, one clear line on stderr (two for wrong usage), no
# crash, no hang, and never "clean".
#
# usage: bad-input.sh BUILD
#
# Each case is one test; the last line is `N passed, N failed, N skipped`.
set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
refinspect=${REFINSPECT:-$build/refinspect}
source=$(cd "$(dirname "$0")/.." && pwd)
seconds=60
work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-bad-input.XXXXXX")
chmod 755 "$work"
cd "$work" || exit 1
passed=0 failed=0 skipped=0 children=
trap '[ -z "$children" ] || { kill -KILL $children; wait; } 2>/dev/null; rm -rf "$work"' EXIT

pass() {
	passed=$((passed + 1))
}

fail() { # WHY COMMAND...
	local why=$1

	shift
	failed=$((failed + 1))
	echo "failed: $why: $*"
	echo "  status $status"
	sed 's/^/  stderr: /' err | head -n 5
	sed 's/^/  stdout: /' out | head -n 5
}

skip() {
	echo "skipped: $*"
	skipped=$((skipped + 1))
}

run() {
	timeout -k 5 $seconds "$@" >out 2>err </dev/null
	status=$?
}

# Status 2 and MIN to MAX lines on stderr, the first of which begins with the program's
# name and matches PATTERN; nothing on stdout.
judge_refusal() { # PATTERN MIN MAX COMMAND...
	local pattern=$1 min=$2 max=$3 lines
	shift 3

	lines=$(wc -l <err)
	if [ $status != 2 ]; then
		fail "exit status 2 expected" "$@"
	elif [ "$lines" -lt "$min" ] || [ "$lines" -gt "$max" ]; then
		fail "$min to $max lines expected" "$@"
	elif ! head -n 1 err | grep -Eq "^refinspect: .*$pattern"; then
		fail "'$pattern' expected" "$@"
	elif [ -s out ]; then
		fail "nothing on stdout expected" "$@"
	else
		pass
	fi
}

refused() { # PATTERN COMMAND...
	local pattern=$1

	shift
	run "$@"
	judge_refusal "$pattern" 1 1 "$@"
}

misused() {
	local pattern=$1

	shift
	run "$@"
	judge_refusal "$pattern" 1 2 "$@"
}

# A report: one of the statuses STATUS|..., nothing on stderr, PATTERN in line LINE of it
# (0: anywhere).
reported() { # STATUSES LINE PATTERN COMMAND...
	local statuses=$1 line=$2 pattern=$3
	shift 3

	run "$@"
	if ! echo $status | grep -Eqx "$statuses"; then
		fail "exit status $statuses expected" "$@"
	elif [ -s err ]; then
		fail "nothing on stderr expected" "$@"
	elif ! if [ "$line" = 0 ]; then cat out; else sed -n "${line}p" out; fi |
		grep -Eq "$pattern"; then
		fail "'$pattern' expected" "$@"
	else
		pass
	fi
}

# Sets pid to a program that says READY or needs no more than to be started.
start() {
	: >said
	"$@" >said </dev/null 2>/dev/null &
	pid=$!
	children="$children $pid"
}

# Waits for $pid, which ends or is ended here.
end() {
	[ $# = 0 ] || kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	children=${children/ $pid/}
}

dump() { # CORE PROGRAM ARGUMENT...
	local core=$1 waited=0

	shift
	start "$@"
	while [ "${1#"$build"}" != "$1" ] && [ $waited -lt 1000 ] && ! grep -q '^READY$' said; do
		sleep 0.02
		waited=$((waited + 1))
	done
	sleep 0.05
	"$build/tests/tools/coremaker" "$pid" "$core" >log 2>&1 || {
		cat log
		echo "0 passed, 1 failed, 0 skipped"
		exit 1
	}
	end now
}

# Overwrites bytes of a file: FILE OFFSET OCTAL...
poke() {
	local file=$1 offset=$2
	shift 2
	printf "$(printf '\\%s' "$@")" | dd of="$file" bs=1 seek="$offset" conv=notrunc status=none
}

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

program=$build/fixtures/O2/surplus
other=$build/fixtures/O2/cycle
dump core "$program"
dump clean "$program" clean

# ---- what is no core file ----------------------------------------------------

echo 'no ELF file' >text
: >empty
mkdir dir
mkfifo fifo
for option in '' --core=; do
	refused 'not an ELF file' "$refinspect" $option"$work/text"
	refused 'executable.*not a core' "$refinspect" $option"$program"
	refused 'object file, not a core' "$refinspect" $option"$build/inspector/cli/main.o"
	refused 'empty' "$refinspect" $option"$work/empty"
	refused 'directory' "$refinspect" $option"$work/dir"
	refused 'FIFO' "$refinspect" $option"$work/fifo"
	refused 'device' "$refinspect" $option/dev/zero
	refused 'device' "$refinspect" $option/dev/null
	refused 'No such file' "$refinspect" $option"$work/none"
done
refused 'empty' "$refinspect" --core=/proc/self/maps

# ---- cores that cannot be read -----------------------------------------------

cp core arm
poke arm 18 267 0
refused 'AArch64' "$refinspect" arm
cp core i386
poke i386 4 1
poke i386 18 3 0
refused '32-bit' "$refinspect" i386
cp core x32
poke x32 4 1
refused '32-bit' "$refinspect" x32
cp core big
poke big 5 2
poke big 16 0 4 0 26
refused 'S/390' "$refinspect" big
cp core headers
poke headers 32 377 377 377 377 377 377 377 177
refused 'program headers' "$refinspect" headers
head -c 20 core >header
refused 'header' "$refinspect" header

# ---- cores that are cut off ---------------------------------------------------

size=$(stat -c %s core)
for percent in 10 50 90; do
	head -c $((size * percent / 100)) core >cut
	reported '1|3' 2 '^the core is cut off: [0-9.]+ % of its bytes are missing' \
		"$refinspect" cut
	reported '1|3' 0 '"missing_percent": [1-9]' "$refinspect" --format=json cut
	head -c $((size * percent / 100)) clean >cut
	reported 3 2 '^the core is cut off' "$refinspect" cut
	reported 3 0 '^could not check: .*truncated: [0-9.]+ %' "$refinspect" cut
done

# ---- executables ---------------------------------------------------------------

refused "$(build_id "$other").*$(build_id "$program")" "$refinspect" -e "$other" core
refused 'No such file' "$refinspect" -e none core
refused 'regular file' "$refinspect" -e fifo core
refused 'regular file' "$refinspect" -e dir core
refused 'regular file' "$refinspect" -e /dev/zero core
refused 'ELF' "$refinspect" -e text core

# ---- profiles --------------------------------------------------------------------

printf 'version: 1\nname: x\ntypes: [\n' >flow.yaml
printf 'version: 1\nname: x\nbogus: 3\n' >key.yaml
printf 'version: 1\nname: x\ntypes:\n  - struct: session\n    counts: { bogus: 1 }\n' >value.yaml
printf '\377\376\0' >binary.yaml
printf 'version: 1\nname: x\ntypes:\n  - struct: nosuch\n    counts: [refs]\n' >unbound.yaml
refused 'flow.yaml:4:1: ' "$refinspect" --profile=flow.yaml core
refused 'key.yaml:3:1: ' "$refinspect" --profile=key.yaml core
refused 'value.yaml:5:[0-9]+: ' "$refinspect" --profile=value.yaml core
refused 'binary.yaml:1:[0-9]+: ' "$refinspect" --profile=binary.yaml core
refused 'empty:1:1: ' "$refinspect" --profile=empty core
refused 'No such file' "$refinspect" --profile=none core
refused 'regular file' "$refinspect" --profile=fifo core
refused 'regular file' "$refinspect" --profile=dir core
refused 'regular file' "$refinspect" --profile=/dev/zero core
reported 1 0 'unbound.yaml:4:13: ' "$refinspect" --profile=unbound.yaml core
reported 3 0 '^could not check: .*unbound.yaml:4:13: ' "$refinspect" --profile=unbound.yaml clean

# ---- usage ------------------------------------------------------------------------

misused 'bogus' "$refinspect" --bogus core
misused 'bogus' "$refinspect" core bogus
misused 'bogus' "$refinspect" core check --bogus
misused 'no target' "$refinspect"
misused 'two targets' "$refinspect" -p 1 --core=core
misused 'nosuch' "$refinspect" --type=nosuch core
misused 'nosuch' "$refinspect" --group=nosuch core
misused 'nosuch' "$refinspect" --code=nosuch core
misused 'nosuch' "$refinspect" core objects --type=nosuch
misused 'nosuch' "$refinspect" core group nosuch
misused 'nosuch' "$refinspect" help nosuch
misused "there is no format 'nosuch'" "$refinspect" --format=nosuch core
misused "'holders' needs ADDR" "$refinspect" core holders
misused "'zz'" "$refinspect" core holders zz
misused 'too many arguments' "$refinspect" core coverage extra
misused 'takes a number' "$refinspect" --limit=x core
misused 'takes a number' "$refinspect" --threads=0 core
misused 'takes a number' "$refinspect" --time-limit=0 core
misused 'takes a number' "$refinspect" -p x
misused 'takes a number' "$refinspect" -p -1
refused '0x10' "$refinspect" core holders 0x10
refused '0x10' "$refinspect" core show 0x10
refused '0x10' "$refinspect" core why 0x10
refused '0x10' "$refinspect" --object=0x10 core

# ---- processes ---------------------------------------------------------------------

# Sets pid to a kernel thread, if any is seen.
find_kernel_thread() {
	local stat flags

	for stat in /proc/[0-9]*/stat; do
		flags=$(sed 's/.*) //' "$stat" 2>/dev/null | cut -d ' ' -f 7)
		pid=${stat#/proc/}
		pid=${pid%/stat}
		[ $((${flags:-0} & 0x200000)) = 0 ] || return 0
	done
	return 1
}

start true
end
refused "no process $pid" "$refinspect" -p "$pid"
if find_kernel_thread; then
	refused 'kernel thread' "$refinspect" -p "$pid"
else
	skip "no kernel thread is seen"
fi
start sh -c 'sleep 0 & exec sleep 60'
for _ in 1 2 3 4 5 6 7 8 9 10; do
	sleep 0.1
	zombie=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
	zombie=${zombie% }
	grep -q '^State:.Z' "/proc/${zombie:-0}/status" 2>/dev/null && break
done
refused 'zombie' "$refinspect" -p "${zombie:-0}"
dump sleeping sleep 60
reported 3 0 '^could not check: .*no counted type was found' "$refinspect" sleeping

# As somebody else, who can run it and not more.
cp "$refinspect" program
chmod 755 program
chmod 600 core
if [ "$(id -u)" != 0 ]; then
	as_other=
elif setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
	as_other='setpriv --reuid=65534 --regid=65534 --clear-groups'
else
	as_other=none
fi
if [ "$as_other" = none ] || [ "$(stat -c %u /proc/1)" = "$(id -u)" ] && [ -z "$as_other" ]; then
	skip "cannot become somebody else"
	skip "cannot become somebody else"
else
	refused 'may not be traced' $as_other ./program -p 1
	if [ -n "$as_other" ]; then
		refused 'Permission denied' $as_other ./program core
	else
		chmod 0 core
		refused 'Permission denied' ./program core
		chmod 600 core
	fi
fi

# ---- output --------------------------------------------------------------------------

refused 'No space left' "$refinspect" -o /dev/full core
refused 'No such file' "$refinspect" -o none/report core
refused 'directory' "$refinspect" -o dir core
for word in core help --help --version; do
	refused 'No space left' sh -c "exec \"$refinspect\" $word >/dev/full"
	refused 'Bad file descriptor' sh -c "exec \"$refinspect\" $word >&-"
done
run sh -c "exec \"$refinspect\" core >&- 2>&-"
if [ $status = 2 ]; then pass; else fail "exit status 2 expected" "all streams closed"; fi
reported 1 0 'surplus' sh -c "exec \"$refinspect\" core <&-"

# ---- an analysis that does not come to its end ------------------------------------------

# Starts refinspect on a core that takes a moment and stops the child that analyses it.
stop_analysis() {
	"$refinspect" "$@" large >out 2>err </dev/null &
	pid=$!
	analysis=
	while [ -z "$analysis" ] && kill -0 $pid 2>/dev/null; do
		analysis=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
	done
	sleep 0.05 # until its time limit is set
	kill -STOP $analysis 2>/dev/null
}

start "$build/fixtures/O2/perf_target" 200000 -k 0 -i
until [ -s said ]; do sleep 0.05; done
"$build/tests/tools/coremaker" "$pid" large
end now
stop_analysis --time-limit=1
sleep 1.2
kill -CONT $analysis
wait $pid
status=$?
judge_refusal 'not done after 1 seconds' 1 1 "--time-limit=1"
for signal in ILL ABRT KILL; do # a sanitizer would catch SEGV
	stop_analysis
	kill -$signal $analysis
	kill -CONT $analysis 2>/dev/null
	wait $pid
	status=$?
	judge_refusal 'the analysis ended by signal' 1 1 "kill -$signal"
done

# ---- what the analysis may do, and how much it may take ----------------------------------

loose=no
"$refinspect" --version | grep -q 'loose' && loose=yes
if "$refinspect" --version | grep -q '^confinement: seccomp;'; then
	for when in auto never; do
		stop_analysis --confine=$when
		analysis=${analysis% } seen=never
		kill -CONT $analysis
		while kill -0 $analysis 2>/dev/null; do
			grep -qs '^Seccomp:.2' "/proc/$analysis/status" && seen=auto
		done
		wait $pid
		if [ $seen = $when ]; then pass; else fail "confined: $seen" --confine=$when; fi
	done
else
	skip "no seccomp in this build or kernel"
fi
misused "auto, never or require" "$refinspect" --confine=maybe core
# what is asked for and not to be had is an error, never left out
if [ $loose = no ]; then
	refused "cannot be confined: not under valgrind" \
		valgrind -q "$refinspect" --confine=require core
else
	skip "valgrind does not run a sanitizer's build"
fi
misused "takes a size" "$refinspect" --max-memory=much core
misused "takes a size" "$refinspect" --max-memory=1T core
misused "takes a size" "$refinspect" --max-memory=-1 core
misused "takes a size" "$refinspect" --max-memory=99999999999G core
run "$refinspect" core
cp out whole
if [ $loose = yes ]; then
	skip "no bound of memory under a sanitizer"
else
	refused 'out of memory' "$refinspect" --max-memory=1M core
	# where it fails differs, and so does who says so; what never happens is half a report
	for size in 500K 2M 3M 4M 6M 8M 12M 16M 20M 22M 24M 28M 40M 1G; do
		run "$refinspect" --max-memory=$size core
		if [ $status = 1 ] && [ ! -s err ] && cmp -s out whole; then
			pass
		elif [ $status = 2 ] && [ ! -s out ] && [ -s err ] && [ $size != 1G ]; then
			pass
		else
			fail "the whole report or none expected" --max-memory=$size
		fi
	done
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
