#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What turns one of the three answers into another: --at-exit, --strict, the commands that
# list; on cores of fixtures, by exit status and by what is said.
#
# usage: answers.sh BUILD
set -u
export LC_ALL=C
build=$1
. "$(dirname "$0")/core-lib.sh"
passed=0 failed=0

# answer STATUS ARGUMENT...: runs refinspect; keeps its output in $out.
answer() {
	local wanted=$1

	shift
	out=$work/out
	"$build/refinspect" "$@" >"$out" 2>"$work/err" </dev/null
	status=$?
	if [ $status = "$wanted" ]; then
		passed=$((passed + 1))
	else
		echo "status $status instead of $wanted: $*"
		cat "$work/err"
		tail -n 5 "$out"
		failed=$((failed + 1))
	fi
}

# says TEXT [FILE], silent TEXT [FILE]: whether the last answer has it.
says() {
	if tr -s ' \n' ' ' <"${2:-$out}" | grep -q -- "$1"; then
		passed=$((passed + 1))
	else
		echo "does not say: $1"
		failed=$((failed + 1))
	fi
}
silent() {
	if ! tr -s ' \n' ' ' <"${2:-$out}" | grep -q -- "$1"; then
		passed=$((passed + 1))
	else
		echo "says: $1"
		failed=$((failed + 1))
	fi
}

# make CORE FIXTURE [ARGUMENT]: a core of the fixture as $work/CORE.
make() {
	local program=$build/fixtures/O2/$2

	printf '#!/bin/sh\nexec "%s" %s\n' "$program" "${3-}" >"$work/run"
	chmod +x "$work/run"
	make_core_of "$1" "$work/run" || {
		echo "no core of $2"
		exit 1
	}
}

# A thread that stands in exit().
make ending unreclaimed
make ended unreclaimed clean
make working surplus clean
answer 0 "$work/ending"
says 'stands in exit (.*exit.*): --at-exit'
answer 1 --at-exit "$work/ending"
silent '--at-exit tells'
says 'unreclaimed: conn: 12 objects'
says '12 kept by conns\[\]'
says 'unreclaimed: session: 6 objects'
answer 0 --at-exit "$work/ended"
answer 0 "$work/working"
silent 'stands in exit'
answer 1 --at-exit "$work/working"
says '2 findings $'

# Memory that was never touched, or was left out of the core.
make holed untouched
make sound untouched clean
answer 1 "$work/holed"
says '3.0 MiB of anonymous memory are absent and presumed never touched'
answer 3 --strict "$work/holed"
says 'surplus (could not check)'
says 'could not check: 3.0 MiB of writable memory are missing'
answer 0 "$work/sound"
answer 3 --strict "$work/sound"
says 'could not check: 3.0 MiB of writable memory are missing'

# What belongs to a control block is lost with it.
make shared plain-payload
profile=$(dirname "$0")/../fixtures/plain-payload.yaml
answer 1 --profile="$profile" -v "$work/shared"
says '0 more objects hang on it, 40 bytes'
says '1 in weak_handles\[\].control, which feed another count'

# What hangs on leak roots, by type; what two of them share hangs on both together alone.
make chain chain
answer 1 "$work/chain"
says 'of these 3 conn, in conn.peer and others'
says 'other lost objects lead to 1 of them too'
says 'chain: 6 conn leaked (528 bytes), all behind 2 route, in conn.peer and others'
says 'chain: 1 device leaked (88 bytes), all behind 2 route, in route.via'
answer 1 "$work/chain" -q
silent 'chain:'
answer 1 --code=unreachable "$work/chain"
silent 'chain:'
answer 0 "$work/chain" leaks
says '2 route 6 session 624 6 conn.session'

# A block without a counted object has its address in the list of leaks.
make ticket unreachable
answer 1 "$work/ticket"
silent 'chain:'
answer 0 "$work/ticket" leaks
says ' ADDRESS TYPE BYTES BEHIND BYTES BEHIND 0x[0-9a-f]* - 88 0 0'

# Models of who owns that explain as much, and what they would mean.
make models inferred
answer 0 "$work/models" ownership --explain
says 'session as learned 0 23 1 0 -'
says 'session session.next owns, sessions\[\] borrows 2 23 1 0 not ruled out'
says 'job closure.job borrows 39 13 11 0 ruled out'
answer 2 "$work/models" leaks --explain

# Blocks of no known type, and what the user says of one.
make shelves plain-assumed
profile=$(dirname "$0")/../fixtures/plain.yaml
answer 0 --profile="$profile" "$work/shelves" types --unknown
says '8 of 35 used blocks, 704 of 3224 bytes, have no known type'
says 'would settle the most: 7 more hang on it, 616 bytes'
says ' 88 8 704 8 0x[0-9a-f]* 7 616 hidden'
shelf=$(grep -o '0x[0-9a-f]*=TYPE' "$out")
shelf=${shelf%=TYPE}
answer 1 --profile="$profile" --assume="$shelf=shelf" "$work/shelves"
says 'surplus: job '
says "assumed as told: $shelf is shelf"
says "--assume=$shelf=shelf "
job=$(sed -n 's/^surplus: job \(0x[0-9a-f]*\):.*/\1/p' "$out")
answer 1 --profile="$profile" --assume="$job=job" "$work/shelves"
says 'surplus: job '
answer 3 --profile="$profile" --assume="$shelf=nothing" "$work/shelves"
says 'the debug information has no type of that name'
answer 3 --profile="$profile" --assume=16=shelf "$work/shelves"
says 'lies in no block of the heap'
answer 0 --profile="$profile" "$work/shelves" objects event
event=$(awk '$2 == "event" { print $1; exit }' "$out")
answer 3 --profile="$profile" --assume="$event=shelf" "$work/shelves"
says "--assume=$event=shelf: the struct has 88 bytes, the block $event there has"
answer 2 --assume=shelf "$work/shelves"
answer 2 "$work/shelves" leaks --unknown
answer 2 "$work/shelves" types job --unknown

# Listings: 0, or 3 where the answer may be incomplete; findings are for `check`.
answer 0 "$work/holed" objects
answer 0 "$work/sound" objects conn
addr=$(awk '$2 == "conn" { print $1; exit }' "$out")
for command in types objects groups leaks cycles coverage 'group all_conns' 'show all_conns' \
	"holders $addr" "why $addr"; do
	answer 0 "$work/sound" $command
	answer 3 --strict "$work/sound" $command
	says 'could not check: 3.0 MiB of writable memory are missing' "$work/err"
done

echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
