#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# What packets cost in a qdisc, inside a virtual machine:
#   bench.sh MEMORY-QDISC "NAME|KIND OPTION...|CASE;CASE..." ...
# where a CASE is in the words of modules/qdisc_bench.c; the last one of each NAME
# is reported to the second serial port, the others come before it in the same
# qdisc. Then the memory that MEMORY-QDISC takes is measured. A qdisc is a KIND with
# its options and, after a +, more commands of tc, in which @ is the device.
set -eu

here=${0%/*}
bench=/sys/kernel/debug/qdisc_bench
many=16

exec 3>/dev/ttyS1
"$here/seed"
insmod "$here/modules/qdisc_bench.ko"
for i in $(seq "$many"); do
	ip link add "d$i" type dummy
done

add() { # DEVICE QDISC
	echo "qdisc add dev @ root handle 1: $2" | tr + "\n" | sed "s/@/$1/" | tc -batch -
}

run() { # DEVICE CASES
	local one

	echo "$2" | tr ";" "\n" | while read -r one; do
		echo "dev=$1 $one" >$bench || return
	done
}

free_memory() {
	awk '$1 == "MemFree:" { print $2 * 1024 }' /proc/meminfo
}

qdisc=$1
shift
done=0
for spec; do
	rest=${spec#*|}
	add d1 "${rest%%|*}"
	run d1 "${rest#*|}"
	echo "case ${spec%%|*}" >&3
	cat $bench >&3
	tc qdisc del dev d1 root
	done=$((done + 1))
	echo "progress $done $# active"
done

# Many at a time, whose slabs and lists of free pages count little then
memory() { # FLOWS DEVICES
	local before i

	before=$(free_memory)
	for i in $(seq "$2"); do
		add "d$i" "$qdisc"
		if [ "$1" -gt 0 ]; then
			run "d$i" "flows=$1 count=1"
		fi
	done
	echo "memory flows=$1 bytes=$(((before - $(free_memory)) / $2))" >&3
	for i in $(seq "$2"); do
		tc qdisc del dev "d$i" root
	done
}

memory 0 "$many"
memory 1 "$many"
memory 10000 "$many"
memory 1000000 2
