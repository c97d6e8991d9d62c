#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What must be refused, by the kernel or by tc, each in words of its own: the
# sentence names the option and its range. What was there stays, and nothing is
# said in the kernel's log.
#
#	refused.sh KIND

# shellcheck disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
kind=$1

new_messages() { # since the mark, but for those of the core about lengths, and of a busy machine
	dmesg | sed "1,/$mark/d" |
		grep -vE "netlink: .*(attribute type [0-9]+ has an invalid length|bytes leftover)" |
		grep -vE "validate_nla: [0-9]+ callbacks suppressed|hrtimer: interrupt took [0-9]+ ns"
}

mark_messages() {
	mark="mark $RANDOM$RANDOM"
	echo "refused.sh: $mark" >/dev/kmsg
}

# refused SENTENCE OPTIONS...: tc says so, for add, change and replace
refused() {
	local how said sentence=$1

	shift
	said=$(for how in "add dev ref0 root" "change dev ref1 root" "replace dev ref1 root"; do
		echo "qdisc $how $kind $*"
	done | tc -force -batch - 2>&1)
	if [ "$(echo "$said" | grep -cF "$sentence")" -ne 3 ]; then
		echo "tc qdisc add, change and replace $kind $*: $said"
		return 1
	fi
	[ "$(tc qdisc show | grep ref)" = "$as_it_was" ]
}

quiet() {
	local said

	said=$(new_messages) || return 0
	echo "$said"
	return 1
}

trap 'ip link del ref0; ip link del ref1' EXIT
modprobe "sch_$kind" && ip link add ref0 type dummy && ip link add ref1 type dummy || exit 1
mark_messages
./netlink_attrs "$kind" ref0 | tee /tmp/netlink_attrs | grep -v '^1\.\.'
tap_count=$(grep -cE '^(not )?ok ' /tmp/netlink_attrs)
tap_failed=$(grep -cE '^(not ok|Bail)' /tmp/netlink_attrs)
check "malformed requests: all were tried" grep -q "^1\.\.$tap_count$" /tmp/netlink_attrs
check "malformed requests: nothing in the log" quiet
tc qdisc del dev ref0 root

# By name: the sentence, and options
of_las() {
	check "fair" refused "las: fair must be 0 or 16384 to 2147483647 bytes" fair 1k
	check "forgive" refused "las: forgive must be 0 to 2147483647 bytes per second" \
		forgive 20gbit
	check "forgive_share" refused "las: forgive_share must be 0 to 100 percent" \
		forgive_share 101%
	check "log 0" refused "las: log must be 0.25 to 4" log 0
	check "log, too much" refused "las: log must be 0.25 to 4" log 4.001
	check "buffer" refused "las: buffer must be 0 or 10 to 60000 ms" buffer 9ms
	check "a fraction of a byte" refused \
		'las: fair: "20000.5b" is not a size in whole bytes' fair 20000.5b
	check "too many decimals" refused \
		'las: log: "0.3333" is not a number with at most three decimals' log 0.3333
}

of_run2c() {
	check "threshold" refused \
		"run2c: threshold must be a power of two, 1024 to 1073741824" threshold 512b
	check "threshold, no power" refused \
		"run2c: threshold must be a power of two, 1024 to 1073741824" threshold 3000b
	check "span" refused "run2c: span must be a power of two, 4096 to 2147483648" span 2kb
	check "span, too much" refused "run2c: span must be a power of two, 4096 to 2147483648" \
		span 2147483649b
	check "threshold and span" refused "run2c: threshold must be less than span" \
		threshold 64kb span 64kb
	check "threshold alone" refused "run2c: threshold must be less than span" threshold 4Mb
	check "span alone" refused "run2c: threshold must be less than span" span 16kb
	check "guarantee" refused "run2c: guarantee must be 0 to 99 percent" guarantee 100
	check "guarantee and order" refused \
		"run2c: guarantee is for two bands, not with order" order guarantee 5
	check "other" refused 'run2c: other: "middle" is not high or low' other middle
	check "buffer" refused "run2c: buffer must be 0 or 10 to 60000 ms" buffer 9ms
}

of_sift() {
	check "probability" refused "sift: probability must be 0 to 1" probability 1.000000001
	check "too many decimals" refused \
		'sift: probability: "0.0000000001" is not a number with at most nine' \
		probability 0.0000000001
	check "every" refused "sift: every must be 0 to 1000000 packets" every 1000001
	check "samples 0" refused "sift: samples must be 1 to 65535" samples 0
	check "slow" refused "sift: slow must be 0 or 1000 to 1000000000 bytes per second" \
		slow 1kbit
	check "guarantee" refused "sift: guarantee must be 0 to 99 percent" guarantee 100
	check "high" refused "sift: high must be 0 to 1000000 packets" high 1000001
	check "low" refused "sift: low must be 0 to 1000000 packets" low 1000001
	check "buffer" refused "sift: buffer must be 0 or 10 to 60000 ms" buffer 9ms
	check "red" refused 'sift: red: "all" is not none, high, low or both' red all
	check "red_min 0" refused "sift: red_min must be 1 to 16384 packets" red_min 0
	check "red_max" refused "sift: red_max must be 1 to 16384 packets" red_max 16385
	check "red_min and red_max" refused "sift: red_min must be less than red_max" \
		red_min 9 red_max 9
	check "red_min alone" refused "sift: red_min must be less than red_max" red_min 15
	check "red_probability 0" refused \
		"sift: red_probability must be 0.000000001 to 1" red_probability 0
	check "red_weight" refused "sift: red_weight must be 1 to 16" red_weight 17
	check "red_bandwidth" refused \
		"sift: red_bandwidth must be 1000 to 4294967295 bytes per second" \
		red_bandwidth 1kbit
}

of_sqf() {
	check "policy" refused 'sqf: policy: "wfq" is not sqf, lqf or fq' policy wfq
	check "quantum 0" refused "sqf: quantum must be 256 to 1048576 bytes" quantum 0
	check "quantum, too much" refused "sqf: quantum must be 256 to 1048576 bytes" \
		quantum 1048577b
	check "policy without a name" refused 'sqf: policy: needs sqf, lqf or fq' policy
	check "drop" refused 'sqf: drop: "middle" is not tail or head' drop middle
	check "a fraction of a byte" refused \
		'sqf: quantum: "2000.5b" is not a size in whole bytes' quantum 2000.5b
}

tc qdisc add dev ref1 root handle 10: "$kind" limit 77 idle 7s
as_it_was=$(tc qdisc show | grep ref)
mark_messages
check "limit 0" refused "$kind: limit must be 1 to 1000000 packets" limit 0
check "limit, too much" refused "$kind: limit must be 1 to 1000000 packets" limit 1000001
check "memory_limit" refused "$kind: memory_limit must be 4096 to 2147483647 bytes" \
	memory_limit 4095
check "flows 3" refused "$kind: flows must be a power of two, 8 to 1048576" flows 3
check "idle 0" refused "$kind: idle must be 1 to 86400000 ms" idle 0
check "an unknown option" refused 'What is "speed"?' speed 9
check "no value" refused "$kind: limit: needs a whole number" idle 5s limit
check "not a number" refused "$kind: limit: \"many\" is not a whole number" limit many
check "negative" refused "$kind: limit: \"-1\" is not a whole number" limit -1
check "too large for its attribute" refused "$kind: limit: \"4294967296\" is not" \
	limit 4294967296
check "a wrong unit" refused "$kind: idle: \"5parsec\" is not a time" idle 5parsec
check "a good option before a bad one" refused "$kind: flows must be" limit 5 flows 9
"of_$kind"
check "nothing in the log" quiet
finish
