#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Strips PROGRAM into STRIPPED and puts its debug information where it is looked
# for by build-id: DIR/.build-id/xx/rest.debug.
# usage: split-debug.sh PROGRAM STRIPPED DIR
set -eu
program=$1 stripped=$2 dir=$3
id=$(LC_ALL=C readelf -n "$program" | sed -n 's/^ *Build ID: *\([0-9a-f]*\)$/\1/p')
if [ ${#id} -lt 4 ]; then
	echo "split-debug: $program has no build-id" >&2
	exit 1
fi
rest=${id#??}
dir=$dir/.build-id/${id%"$rest"}
mkdir -p "$dir"
objcopy --only-keep-debug "$program" "$dir/$rest.debug.$$"
mv -f "$dir/$rest.debug.$$" "$dir/$rest.debug"
objcopy --strip-all "$program" "$stripped"
