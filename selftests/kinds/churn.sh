#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Add, replace, change and delete qdiscs of a kind under load, take the link and at
# last the whole namespace away, then unload the module.
#
#	churn.sh KIND
#
# With KEEP=1 it does not unload it: whose machine this is has loaded it.
#
#   netns snd              netns rtr                            netns rcv
#   s0 ----------------- r0       r1 --------------------------- c0
#   UDP of 100 flows               what is under test             server
#   4 TCP senders
#
# (addresses: selftests/lib/net.sh)

# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/net.sh
readonly PORT=5001
kind=$1
# All of the machine's, so that it is in its first network namespace only
default=$(cat /proc/sys/net/core/default_qdisc 2>/dev/null)
rate=$(fillable 2500 250)kbit
# between ten packets: more than the link takes, but not all that processors can do
pause=$(fillable 20 200)
times=$(fillable 8 3)
between=$(fillable 0.1 1) # looks at the statistics, s

t() {
	tc -n rtr "$@"
}

# One process for many commands: starting it takes longer than what it does
batch() {
	t -batch -
}

shaper() {
	t qdisc del dev r1 root 2>/dev/null
	batch <<-EOF
		qdisc add dev r1 root handle 1: htb default 1
		class replace dev r1 parent 1: classid 1:1 htb rate $rate
		qdisc replace dev r1 parent 1:1 handle 10: $kind limit 50
	EOF
}

kinds() {
	local i

	for i in $(seq "$times"); do
		echo "qdisc replace dev r1 parent 1:1 handle 20: fq_codel"
		sleep 0.05
		echo "qdisc replace dev r1 parent 1:1 handle 10: $kind limit $((i * 5))"
		sleep 0.05
	done | batch
}

itself() {
	local i

	for i in $(seq "$times"); do
		echo "qdisc replace dev r1 parent 1:1 handle $((10 + i)): $kind flows 8"
		sleep 0.05
	done | batch
}

changes() {
	local i mode modes=

	# If the kind tells hosts apart
	t qdisc change dev r1 parent 1:1 "$kind" hosts both nat 2>/dev/null &&
		modes="src none dst both"
	for i in $(fillable "1 1000 2 30 1 7 400 3" "1 1000 2"); do
		echo "qdisc change dev r1 parent 1:1 $kind limit $i buffer $((10 + i))ms"
		sleep 0.03
		echo "qdisc change dev r1 parent 1:1 $kind memory_limit $((4096 + i * 999))b"
		sleep 0.03
		for mode in $modes; do
			echo "qdisc change dev r1 parent 1:1 $kind hosts $mode target ${i}us"
			sleep 0.01
		done
	done | batch || return
	! t qdisc change dev r1 parent 1:1 "$kind" limit 0 2>/dev/null
}

delete_and_add() {
	local i

	for i in $(seq "$times"); do
		echo "qdisc del dev r1 parent 1:1"
		echo "qdisc add dev r1 parent 1:1 handle 10: $kind limit 20"
		sleep 0.05
	done | batch
}

delete_classes() {
	local i

	for i in $(seq 2 $((times / 2 + 2))); do
		echo "qdisc replace dev r1 root handle $i: drr"
		echo "class add dev r1 parent $i: classid $i:1 drr"
		echo "qdisc add dev r1 parent $i:1 $kind limit 5"
		echo "filter add dev r1 parent $i: protocol all matchall classid $i:1"
		sleep 0.05
		echo "filter del dev r1 parent $i:"
		echo "class del dev r1 classid $i:1"
	done | batch
}

link_down_and_up() {
	local i

	for i in $(seq "$times"); do
		echo "link set r1 down"
		sleep 0.02
		echo "link set r1 up"
		sleep 0.1
	done | ip -n rtr -batch -
}

roots() {
	local i

	for i in $(seq $((times / 2 + 1))); do
		echo "qdisc replace dev r1 root handle 5: $kind limit 10"
		sleep 0.05
		echo "qdisc replace dev r1 root handle 6: mq"
		echo "qdisc add dev r1 parent 6:1 $kind limit 3"
		echo "qdisc add dev r1 parent 6:2 $kind limit 100"
		sleep 0.05
		echo "qdisc replace dev r1 root handle 7: tbf rate 10mbit burst 4kb limit 90kb"
		echo "qdisc replace dev r1 parent 7:1 $kind limit 4"
		sleep 0.05
		echo "qdisc del dev r1 root"
	done | batch
}

one_for_each_queue() {
	local shown

	shown=$(t -s qdisc show dev r1 invisible)
	[ "$(echo "$shown" | grep -c "^qdisc $kind 0: parent 8:[12] ")" -eq 2 ] &&
		echo "$shown" | grep -A1 "^qdisc $kind" | grep -q "Sent [1-9]" && return
	echo "$shown"
	return 1
}

# mq gives its children net.core.default_qdisc
default_qdisc() {
	local i

	sysctl -qw net.core.default_qdisc="$kind" || return
	for i in $(seq $((times / 3 + 1))); do
		t qdisc replace dev r1 root handle 8: mq || return
		sleep 0.05
		within 200 one_for_each_queue || return
		ip -n rtr link set r1 down || return
		ip -n rtr link set r1 up || return
		sleep 0.05
		t qdisc del dev r1 root || return
	done
}

transfer() {
	ip netns exec snd ../lib/tcp_transfer.py send 10.0.2.1 "$PORT" "$(fillable 50000 10000)" 2
}

leaf_was_busy() {
	t -s qdisc show dev r1 parent 1:1
	t -s qdisc show dev r1 parent 1:1 | grep -q 'dropped [1-9]'
}

# It has gone when the other end of its link has
no_link() {
	! ip -n snd link show s0 2>/dev/null
}

namespace() {
	ip netns del rtr && within 200 no_link
}

unload() {
	rmmod "sch_$kind" && [ ! -d "/sys/module/sch_$kind" ]
}

flood() {
	local host

	floods=()
	for host in 10.0.2.1 fd00:2::1; do
		ip netns exec snd ../lib/tcp_transfer.py flood $host 9 "$pause" &
		floods+=($!)
	done
}

# Look at the statistics for a moment: whoever does keeps the namespace.
looks() {
	local i

	for i in 1 2 3 4 5 6 7 8; do
		echo "qdisc show dev r1"
		echo "class show dev r1"
		sleep "$between"
	done | t -s -force -batch -
}

load=()
floods=()
trap 'kill "${load[@]}" "${floods[@]}" 2>/dev/null; net_down' EXIT
net_up
ip netns exec rcv ../lib/tcp_transfer.py serve $PORT &
load+=($!)
for host in 10.0.2.1 fd00:2::1; do
	ip netns exec snd ../lib/tcp_transfer.py repeat $host $PORT 500000 2 >/dev/null 2>&1 &
	load+=($!)
done
(while [ -e /run/netns/rtr ]; do looks; done) >/dev/null 2>&1 &
load+=($!)
flood

check "load: shaper" shaper
check "load: the queue overflows" within 200 leaf_was_busy
for phase in kinds itself changes delete_and_add link_down_and_up delete_classes roots; do
	check "$phase: setup" shaper
	check "$phase" $phase
done
if [ -n "$default" ]; then
	check "default_qdisc: setup" shaper
	check "default_qdisc" default_qdisc
	sysctl -qw net.core.default_qdisc="$default"
else
	skip "default_qdisc" "it is all of the machine's"
fi
check "setup again" shaper
# Floods of which each flow is slow rank before it, and need not leave it anything
kill "${floods[@]}"
check "TCP still passes" transfer
flood
check "delete the namespace under load" namespace
kill "${load[@]}" "${floods[@]}" 2>/dev/null
wait "${load[@]}" "${floods[@]}" 2>/dev/null
net_down
if [ -z "${KEEP:-}" ]; then
	check "unload the module" within 200 unload
else
	skip "unload the module" "it was loaded before"
fi
finish
