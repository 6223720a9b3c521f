#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Debug information that is not true of the program, or not the same everywhere: it is cut
# down to what can be, coverage says so, and no finding comes of it.
#
# The program (tests/lies) is sound.  What is said of it is assembled from hand-written DWARF,
# one lie at a time; the truth, written the same way, is told as it is.  Each row is one test.
#
# usage: lies.sh [--keep=DIR] BUILD
#
# The last line is `N passed, N failed, N skipped`.
set -u
keep=
case ${1-} in --keep=*) keep=${1#*=}; shift ;; esac
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
. "$source/tests/commands-lib.sh"
cd "$work" || exit 1
compile="${CC:-cc} -std=gnu11 -O1 -w -Wl,--build-id"

flat() { tr '\n' ' ' <"$1" | tr -s ' '; }

# judged STATUSES IN_REPORT IN_COVERAGE: both are patterns of one line.
judged() {
	local status

	"$tool" --max-memory=500M core >report 2>errors </dev/null
	status=$?
	"$tool" --max-memory=500M core coverage >coverage 2>/dev/null </dev/null
	if echo "$status" | grep -Eqx "$1" && flat report | grep -Eq "$2" &&
	   flat coverage | grep -Eq "$3" && [ ! -s errors ]; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	echo "failed: $what: status $status, wanted $1 with '$2' and '$3' in coverage"
	cat errors report
	cat coverage
}

# dump OBJECT...: a core of the program that is linked from these.
dump() {
	rm -f core
	$compile -g0 -o program "$@" || exit 1
	make_core core ./program
	end_children
}

# said WHAT: the DIEs come on standard input.
said() {
	what=$1
	cat >dies
	sed -e '/^DIES$/{r dies' -e 'd;}' "$source/tests/lies/dwarf.s" >dwarf.s
	$compile -c -o dwarf.o dwarf.s || exit 1
	dump program.o dwarf.o
}

$compile -g0 -fno-asynchronous-unwind-tables -c -o program.o "$source/tests/lies/program.c" || exit 1

sound='conn 40 40 0 0 0 0 0'
none='.'

said 'the truth' <<END
.Lint:	base int, 5, 4
.Llong:	base long, 5, 8
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 0 "$sound" "$none"

said 'a member beyond its struct' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	member far, .Lpointer, 0x1000000000000
	member near, .Lpointer, 36
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 0 "$sound" 'DWARF of (conn|far) cannot be true \(a member beyond its struct\); cut down'

said 'the count beyond its struct' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member id, .Lint, 4
	member peer, .Lpointer, 8
	member refcount, .Lint, 40
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 3 'no counted type was found' 'cannot be true \(a member beyond its struct\)'

said 'a bit-field that is no part of its integer' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	bits refcount, .Lint, 0x1000000000, 0x10000000
	bits refs, .Lint, 70, 3
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 3 'no counted' 'DWARF of refcount cannot be true \(a bit-field that is no part of its type\).*DWARF of refs'

said 'a struct of 2^60 bytes' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 0x1000000000000000
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 3 'no counted' 'DWARF of conn cannot be true \(a size beyond any memory\)'

said 'a struct larger than its blocks' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 4000
	member refcount, .Lint, 0
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 3 'no counted objects' 'no object or group of them is in memory'

said 'an array of 2^61 elements' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 0x2000000000000000
	variable conns, .Ltable, conns
END
judged 3 'conn 40 40 0 0 0 0 0.*who owns references' 'cannot be true \(an array beyond any memory\)'

said 'an array that runs out of its module' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 100000000
	variable conns, .Ltable, conns
END
judged 0 "$sound" "$none"

said 'a variable where nothing is' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
	variable nowhere, .Ltable, 0x7ffffffffff0
	variable last, .Ltable, 0xfffffffffffffff8
END
judged 0 "$sound" "$none"

said 'a pointer type to itself' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lself, 8
	end
.Lself:	pointer .Lself
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
	variable self, .Lself, conns
END
judged 0 "$sound" 'cannot be true \(a pointer to its own type\)'

said 'typedefs and qualifiers in a ring' <<END
.Lint:	base int, 5, 4
.La:	typedef a, .Lb
.Lb:	typedef b, .Lc
.Lc:	constant .La
.Lone:	typedef one, .Lone
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .La, 4
	member peer, .Lpointer, 8
	member again, .Lone, 16
	member through, .Lthrough, 24
	end
.Lthrough: pointer .La
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
	variable ring, .La, conns
END
judged 0 "$sound" 'cannot be true \(a type that holds itself by value\)'

said 'a count of a type in a ring' <<END
.Lint:	base int, 5, 4
.La:	typedef refcount_t, .Lb
.Lb:	typedef atomic_t, .La
.Lconn:	struct conn, 40
	member refcount, .La, 0
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 3 'no counted' 'cannot be true \(a type that holds itself by value\)'

said 'structs that hold themselves' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	member inner, .Lconn, 0
	member other, .Lother, 0
	end
.Lother: struct other, 40
	member back, .Lconn, 0
	member many, .Lrow, 0
	end
.Lrow:	array .Lother, 1
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 0 "$sound" 'cannot be true \(a type that holds itself by value\)'

said 'references out of the unit' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	member wild, .Lunit + 0x70000000, 16
	member odd, .Lint + 1, 24
	member header, .Lunit + 2, 32
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
	variable wild, .Lunit + 0x70000000, conns
END
judged 0 "$sound" 'DWARF of wild cannot be true \(a reference that leads nowhere\)'

said 'siblings that lie backwards' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
.Lback:	next .Lint
	end
	variable never, .Lint, conns
END
judged 3 "$sound.*could not check" 'damaged DWARF, the rest of a unit is left out'

said 'an abbreviation that is not there' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
	.uleb128 77
	.quad 1, 2, 3
END
judged 3 "$sound.*could not check" 'damaged DWARF, the rest of a unit is left out'

said 'another number for the count' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lpointer: pointer .Lconn
.Ltable: array .Lpointer, 40
	variable conns, .Ltable, conns
END
judged 3 'could not check' "type 'conn', found by its shape: a count that is what holders say for 1 of 40 objects is no reference count: left out"

said 'pointers to something else' <<END
.Lint:	base int, 5, 4
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lother: struct other, 40
	member refcount, .Lint, 32
	member conn, .Lpointer, 8
	member more, .Lothers, 0
	end
.Lpointer: pointer .Lconn
.Lothers: pointer .Lother
.Ltable: array .Lothers, 40
	variable conns, .Ltable, conns
END
judged 3 'could not check' "$none"

said 'one place, two structs' <<END
.Lint:	base int, 5, 4
.Llong:	base long, 5, 8
.Lconn:	struct conn, 40
	member refcount, .Lint, 0
	member id, .Lint, 4
	member peer, .Lpointer, 8
	end
.Lsecond: struct conn, 40
	member peer, .Lpointer, 8
	member refcount, .Llong, 16
	end
.Lpointer: pointer .Lconn
.Lseconds: pointer .Lsecond
.Ltable: array .Lpointer, 40
.Ltables: array .Lseconds, 40
	variable conns, .Ltable, conns
	variable seconds, .Ltables, conns
END
judged 0 "$sound" "several structs are called 'conn' in program; only the first of them is looked for"

# ---- what differs from module to module ------------------------------------------------

needed="-Wl,--no-as-needed -Wl,-rpath,$work"
what='a library with another struct of the name'
$compile -g -O0 -c -o with.o "$source/tests/lies/program.c" && $compile -g -O0 -shared -fPIC -o libconn.so \
	"$source/tests/lies/library.c" || exit 1
dump with.o $needed ./libconn.so
judged 0 'conn 40 40 0 0 0 0 0 conn@libconn.so 10 10 0 0 0 0 0' 'modules: 4 of 5 with'

what='a library without symbols'
strip libconn.so
dump with.o $needed ./libconn.so
judged 0 "$sound" 'libconn.so: no DWARF in the file'

what='a program without symbols, a library with'
$compile -g -O0 -shared -fPIC -o libconn.so "$source/tests/lies/library.c" || exit 1
dump program.o $needed ./libconn.so -s
judged '0|3' 'conn 10 10 0 0 0 0 0' 'program: no DWARF in the file'

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
