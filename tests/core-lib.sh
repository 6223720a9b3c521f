# SPDX-License-Identifier: GPL-3.0-or-later
# For tests that want nothing but cores of fixtures: a scratch folder, and make_core.
# Sourced by bash scripts that have set `build`.

work=$(mktemp -d "${TMPDIR:-/tmp}/refinspect-cores.XXXXXX")
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT

# Writes a core of fixture $1 to $work/$1.
make_core() {
	make_core_of "$1" "$build/fixtures/O2/$1"
}

# Writes a core of the program $2, which prints READY, to $work/$1.
make_core_of() {
	local waited=0

	rm -f "$work/truth" # or the READY of the fixture before would be read
	"$2" >"$work/truth" </dev/null &
	pid=$!
	until grep -qs '^READY$' "$work/truth"; do
		kill -0 "$pid" 2>/dev/null && [ $waited -lt 3000 ] || return 1
		sleep 0.02
		waited=$((waited + 1))
	done
	"$build/tests/tools/coremaker" "$pid" "$work/$1" || return 1
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	pid=
}
