#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What must be refused, by the kernel or by tc, each in words of its own: the
# sentence names the option and its range. What was there stays, and nothing is
# said in the kernel's log.

# shellcheck disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

new_messages() { # since the mark, but for those of the core about lengths
	dmesg | sed "1,/$mark/d" |
		grep -vE "netlink: .*(attribute type [0-9]+ has an invalid length|bytes leftover)" |
		grep -vE "validate_nla: [0-9]+ callbacks suppressed"
}

mark_messages() {
	mark="mark $RANDOM$RANDOM"
	echo "las_refused: $mark" >/dev/kmsg
}

# refused SENTENCE OPTIONS...: tc says so, for add, change and replace
refused() {
	local how said sentence=$1

	shift
	for how in "add dev ref0 root" "change dev ref1 root" "replace dev ref1 root"; do
		# shellcheck disable=SC2086 # words
		if said=$(tc qdisc $how las "$@" 2>&1); then
			echo "tc qdisc $how las $*: taken"
			return 1
		fi
		case $said in
		*"$sentence"*) ;;
		*)
			echo "tc qdisc $how las $*: $said"
			return 1
			;;
		esac
	done
	[ -z "$(tc qdisc show dev ref0)" ] && [ "$(tc qdisc show dev ref1)" = "$as_it_was" ]
}

quiet() {
	local said

	said=$(new_messages) || return 0
	echo "$said"
	return 1
}

trap 'ip link del ref0; ip link del ref1' EXIT
ip link add ref0 type dummy && ip link add ref1 type dummy || exit 1
mark_messages
./netlink_attrs ref0 | tee /tmp/netlink_attrs | grep -v '^1\.\.'
tap_count=$(grep -cE '^(not )?ok ' /tmp/netlink_attrs)
tap_failed=$(grep -cE '^(not ok|Bail)' /tmp/netlink_attrs)
check "malformed requests: all were tried" grep -q "^1\.\.$tap_count$" /tmp/netlink_attrs
check "malformed requests: nothing in the log" quiet
tc qdisc del dev ref0 root

tc qdisc add dev ref1 root handle 10: las limit 77 idle 7s
as_it_was=$(tc qdisc show dev ref1)
mark_messages
check "limit 0" refused "las: limit must be 1 to 1000000 packets" limit 0
check "limit, too much" refused "las: limit must be 1 to 1000000 packets" limit 1000001
check "memory_limit" refused "las: memory_limit must be 4096 to 2147483647 bytes" memory_limit 4095
check "flows 3" refused "las: flows must be a power of two, 8 to 1048576" flows 3
check "idle 0" refused "las: idle must be 1 to 86400000 ms" idle 0
check "fair" refused "las: fair must be 0 or 16384 to 2147483647 bytes" fair 1k
check "forgive" refused "las: forgive must be 0 to 2147483647 bytes per second" forgive 20gbit
check "forgive_share" refused "las: forgive_share must be 0 to 100 percent" forgive_share 101%
check "log 0" refused "las: log must be 0.25 to 4" log 0
check "log, too much" refused "las: log must be 0.25 to 4" log 4.001
check "buffer" refused "las: buffer must be 0 or 10 to 60000 ms" buffer 9ms
check "an unknown option" refused 'What is "speed"?' speed 9
check "no value" refused 'las: limit: needs a whole number' idle 5s limit
check "not a number" refused 'las: limit: "many" is not a whole number' limit many
check "negative" refused 'las: limit: "-1" is not a whole number' limit -1
check "a fraction of a byte" refused 'las: fair: "20000.5b" is not a size in whole bytes' fair 20000.5b
check "too large for its attribute" refused 'las: limit: "4294967296" is not' limit 4294967296
check "a wrong unit" refused 'las: idle: "5parsec" is not a time' idle 5parsec
check "too many decimals" refused 'las: log: "0.3333" is not a number with at most three decimals' log 0.3333
check "a good option before a bad one" refused "las: log must be" limit 5 log 9
check "nothing in the log" quiet
finish
