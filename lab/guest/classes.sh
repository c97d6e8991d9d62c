#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# What it takes to tell of many flows, in virtual time, in which an instruction is a nanosecond:
#
#	PYTHONPATH=. python3 -m vm run --kernel 6.1 --mode virtual --module sch_las --module veth \
#		lab/guest/classes.sh
#
# The flows are 5000, of las with hosts. Of each class there is the time of the operation dump, for
# a part of which the qdisc's lock is held, and of all of them that of the kernel's function which
# lists classes. Who asks has to read what it says beside that.
set -eu

here=${0%/*}
tracing=/sys/kernel/tracing

ip netns add snd
ip netns add rcv
ip link add s0 netns snd type veth peer name r0 netns rcv
ip -n snd addr add 10.0.0.1/24 dev s0
ip -n rcv addr add 10.0.0.2/24 dev r0
ip -n snd link set s0 up
ip -n rcv link set r0 up
mac=$(ip -n rcv -o link show r0 | sed 's/.*ether \([^ ]*\) .*/\1/')
ip -n snd neigh replace 10.0.0.2 lladdr "$mac" dev s0
ip -n snd route add default via 10.0.0.2
tc -n snd qdisc add dev s0 root handle 10: las flows 16384 hosts src newcomers 0
"$here/packets" --snd snd --rcv rcv --dev r0 --duration 1 f:bytes=100,us=200,ports=1

mount -t tracefs tracefs $tracing
echo 8192 >$tracing/buffer_size_kb
echo function_graph >$tracing/current_tracer

# microseconds that FUNCTION took, each time
took() {
	echo "$1" >$tracing/set_ftrace_filter
	echo >$tracing/trace
	tc -n snd -s class show dev s0 >/dev/null
	awk -v name="$1" 'index($0, name) && sub(/ us .*/, "") { print $NF }' $tracing/trace |
		sort -n
}

took sf_policy_dump_class | awk '{ us[NR] = $1 } END {
	print NR " classes, a dump of each: median " us[int((NR + 1) / 2)] " us, most " us[NR] " us"
}'
took tc_dump_tclass | awk '{ sum += $1 } END {
	printf "all of them: %.1f ms in %d parts\n", sum / 1000, NR
}'
