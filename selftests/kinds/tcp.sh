#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Real TCP over IPv4 and IPv6 through a bottleneck with a leaf of a kind:
#
#	tcp.sh KIND
#
#   netns snd          netns rtr                            netns rcv
#   s0 ------------- r0       r1 --------------------------- c0
#   6 senders                 htb 1: -- 1:1 RATE -- KIND 10:  server
#
# (addresses: selftests/lib/net.sh)

# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/net.sh
readonly PORT=5001
kind=$1

# after WORD TEXT: the first number there, as tc prints it
after() {
	[[ $2 =~ (^|[^a-z_])$1\ ([0-9]+) ]] && echo "${BASH_REMATCH[2]}"
}

bottleneck() { # RATE OPTIONS...
	tc -n rtr -batch - <<-EOF
		qdisc replace dev r1 root handle 1: htb default 1
		class replace dev r1 parent 1: classid 1:1 htb rate $1
		qdisc replace dev r1 parent 1:1 handle 10: $kind ${*:2}
	EOF
}

transfer() { # HOST BYTES
	ip netns exec snd ../lib/tcp_transfer.py send "$1" "$PORT" "$2" 6
}

dropped_and_counted() {
	local shown dropped cause causes=0

	shown=$(tc -n rtr -s qdisc show dev r1 parent 1:1)
	dropped=$(after dropped "$shown")
	for cause in limit memory buffer new codel; do
		causes=$((causes + $(after "drop_$cause" "$shown" || echo 0)))
	done
	echo "dropped $dropped, by their causes $causes"
	[ "$dropped" -gt 0 ] && [ "$dropped" -eq "$causes" ]
}

# What tc says of r1's qdiscs, classes and flows when nothing is queued
empty() {
	local shown

	shown=$(tc -n rtr -s -batch - <<<"qdisc show dev r1"$'\n'"class show dev r1")
	[ "$(grep -c '^ backlog ' <<<"$shown")" -ge 3 ] &&
		! grep '^ backlog ' <<<"$shown" | grep -qv '^ backlog 0b 0p ' &&
		[ "$(after flows_queued "$shown") $(after memory "$shown")" = "0 0" ] && return
	echo "$shown"
	return 1
}

trap 'kill $server 2>/dev/null; net_down' EXIT
net_up
ip netns exec rcv ../lib/tcp_transfer.py serve $PORT &
server=$!

for gso in on off; do
	for end in "snd s0" "rtr r0" "rtr r1"; do
		ip netns exec "${end% *}" ethtool -K "${end#* }" tso $gso gso $gso gro $gso
	done
	for host in 10.0.2.1 fd00:2::1; do
		for rate in $(fillable "10 50" 1); do
			name="$rate Mbit/s to $host, gso $gso"
			bytes=$((rate * 4000 + $(fillable 100000 60000)))
			check "$name: setup" bottleneck "${rate}mbit" limit 12
			check "$name: intact" transfer $host $bytes
			check "$name: drops" dropped_and_counted
			check "$name: empty" within 10 empty
			tc -n rtr qdisc del dev r1 root
		done
	done
done
check "memory_limit: setup" bottleneck "$(fillable 20 2)mbit" memory_limit 30000b
check "memory_limit: intact" transfer 10.0.2.1 "$(fillable 150000 80000)"
check "memory_limit: drops" dropped_and_counted
check "memory_limit: empty" within 10 empty
finish
