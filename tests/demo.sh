#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The demonstration: lets a sample program crash, runs refinspect on its core
# file and shows the findings.
# usage: demo.sh BUILD_DIR
#
# Where the kernel writes core files beside the program, that one is used; where
# it pipes them elsewhere, gdb runs the program and writes the core file.
set -eu
build=$(cd "$1" && pwd)
program=$build/fixtures/O0/demo
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo "== $(basename "$program") runs until it crashes"
(ulimit -c unlimited && exec "$program" --crash) >demo.out 2>&1 || :
core=$(find . -name 'core*' -type f | head -n 1)
if [ -z "$core" ]; then
	echo "== no core file beside the program (core_pattern is '$(cat /proc/sys/kernel/core_pattern)'): gdb writes one"
	gdb -nx -batch -ex 'handle all nostop noprint pass' -ex 'handle SIGABRT stop' -ex run \
		-ex 'generate-core-file core.demo' --args "$program" --crash >gdb.log 2>&1 || :
	core=core.demo
	[ -f "$core" ] || { cat gdb.log >&2; echo "demo: no core file could be made" >&2; exit 1; }
fi

echo "== refinspect $core"
status=0
"$build/refinspect" "$core" || status=$?
echo "== exit status $status (1: there are findings)"
[ "$status" -eq 1 ]
