#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# How exactly qdiscs shape, inside a virtual machine:
#   pace.sh "NAME|TC-WORDS|RATE SIZE SEGS DEPTH ROOM|SECONDS|COMMAND" ...
#
# TC-WORDS are those of the root qdisc and, after a +, of more commands of tc; RATE and what is
# behind it are modules/pace.c's. For so many SECONDS the qdisc has as many packets as it may.
# With a COMMAND of tc, in which @ is a rate, that changes ten times a second, from RATE to a
# hundredth of it and back.
#
# What was measured goes to the second serial port: for each NAME what the module tells and, as
# JSON, what tc does, when the time is over and when all has left.
set -eu

here=${0%/*}
pace=/sys/kernel/debug/pace
patience=100 # times 0.1 s until all has left

exec 3>/dev/ttyS1
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
insmod "$here/modules/pace.ko"
ip link set pace0 up

shown() {
	cat $pace
	tc -s -j qdisc show dev pace0
}

# change RATE COMMAND TIMES
change() {
	local now=$1 _

	for _ in $(seq "$3"); do
		if [ "$now" = "$1" ]; then
			now=$(($1 / 100))
		else
			now=$1
		fi
		echo "rate $now" >$pace
		echo "$2" | sed "s/@/${now}bit/" | tc -batch -
		sleep 0.1
	done
}

done=0
for spec; do
	name=${spec%%|*}
	rest=${spec#*|}
	words=${rest%%|*}
	rest=${rest#*|}
	what=${rest%%|*}
	rest=${rest#*|}
	seconds=${rest%%|*}
	command=${rest#*|}
	echo "qdisc add dev pace0 root handle 1: $words" | tr + "\n" | tc -batch -
	echo "start $what" >$pace
	if [ -n "$command" ]; then
		change "${what%% *}" "$command" $((seconds * 10))
	else
		sleep "$seconds"
	fi
	echo stop >$pace
	{
		echo "case $name"
		shown
	} >&3
	for _ in $(seq $patience); do
		tc -s qdisc show dev pace0 | grep -q "backlog [^0]" || break
		sleep 0.1
	done
	shown >&3
	tc qdisc del dev pace0 root
	done=$((done + 1))
	echo "progress $done $# active"
done
