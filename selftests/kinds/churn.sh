#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Add, replace, change and delete qdiscs of a kind under load, take the link and at
# last the whole namespace away, then unload the module.
#
#	churn.sh KIND
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
default=$(sysctl -n net.core.default_qdisc)
rate=$(fillable 5000 250)kbit
# between ten packets: more than the link takes, but not all that processors can do
pause=$(fillable 10 200)
times=$(fillable 8 3)
between=$(fillable 0.1 1) # looks at the statistics, s

t() {
	tc -n rtr "$@"
}

shaper() {
	t qdisc del dev r1 root 2>/dev/null
	t qdisc add dev r1 root handle 1: htb default 1 &&
		t class replace dev r1 parent 1: classid 1:1 htb rate "$rate" &&
		t qdisc replace dev r1 parent 1:1 handle 10: "$kind" limit 50
}

kinds() {
	local i

	for i in $(seq "$times"); do
		t qdisc replace dev r1 parent 1:1 handle 20: fq_codel || return
		sleep 0.05
		t qdisc replace dev r1 parent 1:1 handle 10: "$kind" limit $((i * 5)) || return
		sleep 0.05
	done
}

itself() {
	local i

	for i in $(seq "$times"); do
		t qdisc replace dev r1 parent 1:1 handle $((10 + i)): "$kind" flows 8 || return
		sleep 0.05
	done
}

changes() {
	local i

	for i in $(fillable "1 1000 2 30 1 7 400 3" "1 1000 2"); do
		t qdisc change dev r1 parent 1:1 "$kind" limit "$i" idle "${i}ms" || return
		sleep 0.03
		t qdisc change dev r1 parent 1:1 "$kind" memory_limit $((4096 + i * 999))b || return
		sleep 0.03
	done
	! t qdisc change dev r1 parent 1:1 "$kind" limit 0 2>/dev/null
}

delete_and_add() {
	local i

	for i in $(seq "$times"); do
		t qdisc del dev r1 parent 1:1 || return
		t qdisc add dev r1 parent 1:1 handle 10: "$kind" limit 20 || return
		sleep 0.05
	done
}

delete_classes() {
	local i

	for i in $(seq $((times / 2 + 1))); do
		t qdisc replace dev r1 root handle $((1 + i)): drr || return
		t class add dev r1 parent $((1 + i)): classid $((1 + i)):1 drr || return
		t qdisc add dev r1 parent $((1 + i)):1 "$kind" limit 5 || return
		t filter add dev r1 parent $((1 + i)): protocol all matchall \
			classid $((1 + i)):1 || return
		sleep 0.05
		t filter del dev r1 parent $((1 + i)): || return
		t class del dev r1 classid $((1 + i)):1 || return
	done
}

link_down_and_up() {
	local i

	for i in $(seq "$times"); do
		ip -n rtr link set r1 down || return
		sleep 0.02
		ip -n rtr link set r1 up || return
		sleep 0.1
	done
}

roots() {
	local i

	for i in $(seq $((times / 2 + 1))); do
		t qdisc replace dev r1 root handle 5: "$kind" limit 10 || return
		sleep 0.05
		t qdisc replace dev r1 root handle 6: mq || return
		t qdisc add dev r1 parent 6:1 "$kind" limit 3 || return
		t qdisc add dev r1 parent 6:2 "$kind" limit 100 || return
		sleep 0.05
		t qdisc replace dev r1 root handle 7: tbf rate 10mbit burst 4kb limit 90kb || return
		t qdisc replace dev r1 parent 7:1 "$kind" limit 4 || return
		sleep 0.05
		t qdisc del dev r1 root || return
	done
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
	for i in $(seq $((times / 2 + 1))); do
		t qdisc replace dev r1 root handle 8: mq || return
		sleep 0.05
		within 20 one_for_each_queue || return
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

namespace() {
	ip netns del rtr
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

load=()
floods=()
trap 'kill "${load[@]}" "${floods[@]}" 2>/dev/null; net_down' EXIT
net_up
ip netns exec rcv ../lib/tcp_transfer.py serve $PORT &
load+=($!)
for host in 10.0.2.1 fd00:2::1; do
	(while ip netns exec snd ../lib/tcp_transfer.py send $host $PORT 500000 2; do :; done) \
		>/dev/null 2>&1 &
	load+=($!)
done
(while t -s qdisc show dev r1 && t -s class show dev r1; do
	sleep "$between"
done) >/dev/null 2>&1 &
load+=($!)
flood

check "load: shaper" shaper
check "load: the queue overflows" within 60 leaf_was_busy
for phase in kinds itself changes delete_and_add link_down_and_up delete_classes roots default_qdisc; do
	check "$phase: setup" shaper
	check "$phase" $phase
done
sysctl -qw net.core.default_qdisc="$default"
check "setup again" shaper
# Floods of which each flow is slow rank before it, and need not leave it anything
kill "${floods[@]}"
check "TCP still passes" transfer
flood
check "delete the namespace under load" namespace
kill "${load[@]}" "${floods[@]}" 2>/dev/null
wait "${load[@]}" "${floods[@]}" 2>/dev/null
net_down
check "unload the module" within 20 unload
finish
