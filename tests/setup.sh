#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Debian packages that are missing, as root or with sudo.
# usage: setup.sh build|check [BUILD]
#
# With BUILD, a gdb without Python is unpacked below BUILD/gdb-minimal, for the
# tests: its package cannot be installed beside gdb.  It is no failure if it cannot
# be had; the tests that need it say so.
#
# A machine that has the packages needs no network and no privileges; on a
# system without apt-get, what is needed is printed and the build goes on.
set -eu

build_packages="gcc make pkg-config libc6-dev libdw-dev libelf-dev binutils-dev libiberty-dev
	libreadline-dev libyaml-dev libjansson-dev libsmartcols-dev libseccomp-dev libzstd-dev zlib1g-dev gdb"
# What the build does without; no failure if it cannot be had.
optional_packages=libdeflate-dev
check_packages="$build_packages g++ clang llvm libclang-rt-dev libcmocka-dev libc6-dbg valgrind
	python3.11 python3.11-dbg elfutils binutils dwz xz-utils ca-certificates gdbserver libjemalloc2
	libtcmalloc-minimal4 libmimalloc2.0"

case ${1:-build} in
build) wanted=$build_packages ;;
check) wanted=$check_packages ;;
*) echo "usage: setup.sh build|check [BUILD]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system; these packages (or their like) are needed:" $wanted >&2
	exit 0
fi

is_installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

run=
missing=
for package in $wanted; do
	is_installed "$package" || missing="$missing $package"
done
if [ -n "$missing" ]; then
	echo "setup: installing$missing"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "setup: not root and no sudo; please install:$missing" >&2
			exit 1
		}
		run=sudo
	fi
	$run apt-get -q update
	$run env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y --no-install-recommends install $missing
fi
for package in $optional_packages; do
	if is_installed "$package" || { [ "$(id -u)" -ne 0 ] && [ -z "$run" ]; }; then
		continue
	fi
	$run env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y --no-install-recommends install "$package" ||
		echo "setup: no $package; going on without it" >&2
done

unpack_plain_gdb() {
	folder=$1/gdb-minimal.download
	rm -rf "$folder"
	mkdir -p "$folder"
	(cd "$folder" && apt-get -q download gdb-minimal && dpkg -x gdb-minimal_*.deb tree) \
		>"$1/gdb-minimal.log" 2>&1 && mv "$folder/tree" "$1/gdb-minimal"
	rm -rf "$folder"
	[ -e "$1/gdb-minimal" ] || echo "setup: no gdb-minimal; see $1/gdb-minimal.log" >&2
}
[ -z "${2-}" ] || [ -e "$2/gdb-minimal" ] || unpack_plain_gdb "$2"
