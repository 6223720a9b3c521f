# SPDX-License-Identifier: GPL-3.0-or-later
# Two threaded daemons from Debian's source, for tests/run-real, which reads this file:
#
#   pulseaudio  classes in C with one counted base; packets, streams of a protocol and blocks of
#               sound counted apart; the blocks lie in a pool that the daemon maps itself, their
#               holders in sets and tables of void pointers (25 types that look counted, 18 seen)
#   bind        named: zones, access lists, databases, tasks, sockets and more, an allocator of
#               its own in front of malloc(), eight threads (over 100 such types, 46 seen)
#
# Each is looked at while it works, and when it has cleaned up at its end. What is true is told
# by NAME_truth.gdb from the daemon's own tables; the same script plants the faults. Exactly what
# is found is expected, so that what gets better is noticed too. What is not found, and why:
#
#   pulseaudio, at work   the 4 packets that leaked: nothing typed ever leads to a packet that is
#                         at rest, so none is known that they could be recognised by; one is
#                         told as a block that may be one, to the others stale words lead
#                         in the list of free packets that they were taken from.
#                         The 3 blocks that leaked could not be checked: whether a slot of the
#                         daemon's own pool is in use nobody knows but the daemon
#   pulseaudio, at exit   the packets again, and the 2 blocks: with the pool's owner gone, no
#                         typed pointer leads to the pool
#   bind, at work         the database: pointers to it are declared as pointers to the struct that
#                         it begins with, which is not counted
#   bind, at exit         the 5 access lists: so few blocks are left that nothing tells that they
#                         begin with a header of the daemon's allocator; told as lost blocks

# plant NAME PID LIGHT [COMMAND...]: plants faults; what was is in $work/said; the commands run in
# gdb afterwards.
plant() {
	local name=$1 pid=$2 light=$3

	shift 3
	{
		echo "set \$light = $light"
		echo "source $source/${name}_truth.gdb"
		printf '%s\n' "$@"
	} >"$work/plant.gdb"
	timeout 120 gdb -nx -q -batch -p "$pid" -x "$work/plant.gdb" >"$work/said" 2>"$work/gdb.log"
}

# to_the_end NAME PID BREAK: plants the faults that the daemon survives, ends it, makes $work/core
# where it comes by the breakpoint.
to_the_end() {
	rm -f "$work/core"
	plant "$1" "$2" 1 "handle SIGTERM nostop noprint pass" "handle SIGPIPE nostop noprint pass" \
		"break $3" "shell kill -TERM $2" continue "generate-core-file $work/core" kill
	end "$2"
	[ -s "$work/core" ]
}

# planted KIND TYPE: how many of these faults the truth tells.
planted() {
	grep -c "^$1 $2 0x" "$work/said"
}

# found KIND TYPE CODE...: how many of these faults the report tells by one of the codes.
found() {
	local kind=$1 type=$2 number=0 address code

	shift 2
	for address in $(sed -n "s/^$kind $type //p" "$work/said"); do
		for code; do
			if addresses "$code" "$type" | grep -qx "$address"; then
				number=$((number + 1))
				break
			fi
		done
	done
	echo $number
}

# sure_elsewhere: findings that are sure, about no address at which a fault was planted.
sure_elsewhere() {
	sed -n 's/^[OUL][A-Z]* [a-z_]* \(0x[0-9a-f]*\)$/"address": "\1"/p' "$work/said" >"$work/planted"
	grep -F '"code": ' "$work/report" | grep -vF '"severity": "note"' |
		grep -F '"status": "sure"' | grep -cvFf "$work/planted"
}

# alive TYPE: how many objects of the type the report tells as not released.
alive() {
	local lost kept

	lost=$(addresses unreachable "$1" | wc -l)
	kept=$(grep -F '"code": "unreclaimed"' "$work/report" | grep -F "\"type\": \"$1\"" |
		sed -n "s/.*$1: \([0-9]*\) object.*/\1/p")
	echo $((lost + ${kept:-0}))
}

look_at_exit() {
	"$build/refinspect" --format=json --at-exit "$work/core" >"$work/report" 2>"$work/errors"
	status=$?
}

# end PID: no job of this shell any more, which would report its death.
end() {
	kill -KILL "$1" 2>/dev/null
	while kill -0 "$1" 2>/dev/null; do
		sleep 0.02
	done
}

# wait_for PID FILE PATTERN: until a line of the file matches; false if the process ends.
wait_for() {
	local waited=0

	until grep -qs "$3" "$2"; do
		kill -0 "$1" 2>/dev/null && [ $waited -lt 1500 ] || return 1
		sleep 0.02
		waited=$((waited + 1))
	done
}

build_pulseaudio() {
	local from=$kept/pulseaudio-source to=$kept/pulseaudio-build

	if [ ! -e "$to/done" ]; then
		need meson ninja-build pkg-config gettext xz-utils python3 libglib2.0-dev \
			libsndfile1-dev libltdl-dev libcap-dev || return 1
		source_of pulseaudio "$from" || return 1
		(export PATH=/usr/bin:/bin:/usr/sbin:/sbin && rm -rf "$to" &&
			{ [ -e "$from/.tarball-version" ] || echo 16.1 >"$from/.tarball-version"; } &&
			meson setup "$to" "$from" --buildtype=debugoptimized --auto-features=disabled \
				-Ddoxygen=false -Dman=false -Dtests=false -Ddatabase=simple -Dipv6=false \
				-Dbashcompletiondir=no -Drunning-from-build-tree=true &&
			ninja -C "$to" -j2 src/daemon/pulseaudio src/modules/module-null-sink.so \
				src/modules/module-native-protocol-unix.so) >"$work/build.log" 2>&1 &&
			touch "$to/done" || return 1
	fi
	gcc -g -O2 -I"$from/src" -I"$to/src" -o "$kept/pulse_load" "$source/pulse_load.c" \
		-L"$to/src/pulse" -lpulse -Wl,-rpath,"$to/src/pulse" -Wl,-rpath,"$to/src" \
		>"$work/build.log" 2>&1
}

# Starts the daemon and its clients: $daemon, $load.
start_pulseaudio() {
	rm -f "$work/socket" "$work/load.log"
	mkdir -p "$work/home"
	cat >"$work/pulse.pa" <<END
load-module module-null-sink sink_name=silence
load-module module-native-protocol-unix auth-anonymous=1 socket=$work/socket
END
	# without shared memory the pool is the daemon's alone
	HOME=$work/home XDG_RUNTIME_DIR=$work/home "$kept/pulseaudio-build/src/daemon/pulseaudio" \
		-n -F "$work/pulse.pa" --daemonize=no --use-pid-file=no --exit-idle-time=-1 \
		--log-level=info --disable-shm=yes --realtime=no --high-priority=no \
		>"$work/server.log" 2>&1 </dev/null &
	daemon=$!
	disown $daemon
	pids="$pids $daemon"
	wait_for $daemon "$work/server.log" "startup complete" || return 1
	HOME=$work/home "$kept/pulse_load" "unix:$work/socket" >"$work/load.log" 2>&1 </dev/null &
	load=$!
	disown $load
	pids="$pids $load"
	wait_for $load "$work/load.log" '^READY$'
}

test_pulseaudio() {
	local daemon load

	build_pulseaudio || { give_up pulseaudio "not built" "$work/build.log"; return; }
	start_pulseaudio || { give_up pulseaudio "not started" "$work/server.log"; return; }
	plant pulse $daemon 0
	"$build/tests/tools/coremaker" $daemon "$work/core" || { give_up pulseaudio "no core"; return; }
	end $daemon
	end $load
	look
	expect "pulseaudio: status" 1 $status
	expect "pulseaudio: planted" 14 "$(planted '[A-Z]*' '[a-z_]*')"
	expect "pulseaudio: inputs, surplus" 3 "$(found OVER pa_sink_input surplus)"
	expect "pulseaudio: inputs, deficit" 1 "$(found UNDER pa_sink_input deficit)"
	expect "pulseaudio: streams, surplus" 1 "$(found OVER pa_pstream surplus)"
	expect "pulseaudio: blocks, surplus" 2 "$(found OVER pa_memblock surplus)"
	expect "pulseaudio: blocks, lost" 3 "$(found LOST pa_memblock unreachable)"
	expect "pulseaudio: packets, lost" 0 "$(found LOST pa_packet unreachable)"
	expect "pulseaudio: other findings" 0 "$(sure_elsewhere)"

	start_pulseaudio || { give_up pulseaudio "not started" "$work/server.log"; return; }
	to_the_end pulse $daemon pa_unset_env_recorded ||
		{ give_up pulseaudio "no core at its end" "$work/gdb.log"; return; }
	end $load
	look_at_exit
	expect "pulseaudio, at exit: status" 1 $status
	expect "pulseaudio, at exit: planted" 9 "$(planted '[A-Z]*' '[a-z_]*')"
	expect "pulseaudio, at exit: inputs" 3 "$(alive pa_sink_input)"
	expect "pulseaudio, at exit: blocks" 0 "$(alive pa_memblock)"
	expect "pulseaudio, at exit: packets" 0 "$(alive pa_packet)"
	expect "pulseaudio, at exit: other findings" "$(addresses unreachable pa_sink_input | wc -l)" \
		"$(($(sure_findings) - $(count unreclaimed pa_sink_input)))"
}

build_bind() {
	local from=$kept/bind-source

	[ ! -e "$from/done" ] || return 0
	need pkg-config xz-utils perl libuv1-dev libssl-dev libcap-dev || return 1
	source_of bind9 "$from" || return 1
	(export PATH=/usr/bin:/bin:/usr/sbin:/sbin CFLAGS="-g -O1" && cd "$from" &&
		./configure --disable-doh --disable-geoip --without-jemalloc --without-gssapi \
			--without-lmdb --without-libxml2 --without-json-c --without-zlib \
			--without-maxminddb --without-cmocka --without-readline --without-libidn2 \
			--disable-static --enable-shared &&
		make bind.keys.h && make -j2 -C lib && make -j2 -C bin/named) >"$work/build.log" 2>&1 &&
		touch "$from/done"
}

configure_bind() { # PORT
	local i

	mkdir -p "$work/zones"
	cat >"$work/zones/named.conf" <<END
options {
	directory "$work/zones"; pid-file none; lock-file none; session-keyfile none;
	listen-on port $1 { 127.0.0.1; }; listen-on-v6 { none; }; notify no; recursion no;
	dnssec-validation no; empty-zones-enable no; trust-anchor-telemetry no;
	tcp-initial-timeout 1200; tcp-idle-timeout 1200;
};
controls { };
zone "." { type primary; file "root.db"; };
END
	for ((i = 1; i <= 40; i++)); do
		echo "key \"key$i.example\" { algorithm hmac-sha256;" \
			"secret \"$(printf 'secret-of-the-key-%03d' $i | base64)\"; };"
	done >>"$work/zones/named.conf"
	printf '%s\n' '$TTL 300' '@ IN SOA ns.example. root.example. 1 3600 600 86400 300' \
		'@ IN NS ns.example.' 'ns.example. IN A 127.0.0.1' >"$work/zones/root.db"
	for ((i = 1; i <= 100; i++)); do
		echo "zone \"zone$i.example\" { type primary; file \"zone$i.db\";" \
			"allow-query { 127.0.0.1; 10.0.$i.0/24; };" \
			"allow-update { key key$((i % 40 + 1)).example; }; };" >>"$work/zones/named.conf"
		printf '%s\n' '$TTL 300' '@ IN SOA ns root 1 3600 600 86400 300' '@ IN NS ns' \
			'ns IN A 127.0.0.1' 'www IN A 127.0.0.2' 'mail IN MX 10 www' \
			>"$work/zones/zone$i.db"
	done
}

# Starts the daemon, $daemon, and asks it over connections that stay open, $connections.
start_bind() {
	local port=$((20000 + RANDOM % 10000)) i fd
	local question='\x00\x23\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00'

	rm -f "$work/server.log"
	configure_bind $port
	"$kept/bind-source/bin/named/named" -g -n 2 -c "$work/zones/named.conf" \
		>"$work/server.log" 2>&1 </dev/null &
	daemon=$!
	disown $daemon
	pids="$pids $daemon"
	wait_for $daemon "$work/server.log" ' running$' || return 1
	for ((i = 0; i < 20; i++)); do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return 1
		connections="$connections $fd"
		printf "$question"'\x03www\x05zone1\x07example\x00\x00\x01\x00\x01' >&$fd
		timeout 10 dd bs=1 count=2 <&$fd >/dev/null 2>&1 || return 1
	done
}

hang_up() {
	local fd

	for fd in $connections; do
		exec {fd}>&-
	done
	connections=
}

test_bind() {
	local daemon connections=

	build_bind || { give_up bind "not built" "$work/build.log"; return; }
	start_bind || { give_up bind "not started" "$work/server.log"; return; }
	plant bind $daemon 0
	"$build/tests/tools/coremaker" $daemon "$work/core" || { give_up bind "no core"; return; }
	end $daemon
	hang_up
	look
	expect "bind: status" 1 $status
	expect "bind: planted" 9 "$(planted '[A-Z]*' '[a-z_]*')"
	expect "bind: access lists, surplus" 2 "$(found OVER dns_acl surplus)"
	expect "bind: access lists, deficit" 1 "$(found UNDER dns_acl bad-count deficit)"
	expect "bind: access lists, lost" 3 "$(found LOST dns_acl unreachable)"
	expect "bind: zones, surplus" 2 "$(found OVER dns_zone surplus)"
	expect "bind: databases, surplus" 0 "$(found OVER dns_rbtdb surplus)"
	expect "bind: other findings" 0 "$(sure_elsewhere)"

	start_bind || { give_up bind "not started" "$work/server.log"; return; }
	to_the_end bind $daemon "isc__mem_destroy if ctxp == &named_g_mctx" ||
		{ give_up bind "no core at its end" "$work/gdb.log"; return; }
	hang_up
	look_at_exit
	# the one context of memory is destroyed after this
	expect "bind, at exit: status" 1 $status
	expect "bind, at exit: planted" 5 "$(planted '[A-Z]*' '[a-z_]*')"
	expect "bind, at exit: access lists" 0 "$(alive dns_acl)"
	expect "bind, at exit: contexts of memory" 1 "$(alive isc_mem)"
	expect "bind, at exit: other findings" 0 "$(($(sure_findings) - $(count unreclaimed isc_mem)))"
}
