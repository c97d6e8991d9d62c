#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Options that all kinds have: what is set is shown, what is shown can be set, and what
# is refused changes nothing. Each option of each kind: test_config.py, test_refused.py.
#
#	options.sh KIND
#
# (the qdisc is that of r1 in netns rtr: selftests/lib/net.sh)

# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/net.sh
kind=$1

t() {
	tc -n rtr "$@"
}

# What the qdisc is after commands, as it can be typed
typed() { # COMMAND...
	local line

	line=$(printf '%s\n' "$@" "qdisc show dev r1 root" | t -batch -) || return
	[[ $line =~ ^qdisc\ $kind\ 1:\ root\ refcnt\ [0-9]+\ (.*) ]] && echo "${BASH_REMATCH[1]}"
}

anew() { # WORDS
	typed "qdisc replace dev r1 root handle 2: pfifo" "qdisc replace dev r1 root handle 1: $kind $1"
}

becomes() { # WORDS SHOWN: also if that is typed again
	local first

	first=$(anew "$1") || return
	echo "$first"
	[[ " $first " = *" $2 "* ]] || return
	[ "$(anew "$first")" = "$first" ]
}

refuses() { # WORDS SAID
	local said before

	said=$(t -force -batch - 2>&1 <<-END
		qdisc show dev r1
		qdisc change dev r1 root $kind $1
		qdisc show dev r1
	END
	) && echo "was taken" && return 1
	echo "$said"
	before=$(grep "^qdisc" <<<"$said" | sort | uniq -c)
	[[ $before = *" 2 qdisc $kind "* && $said = *$2* ]]
}

keeps_the_rest() {
	local after

	anew "limit 77 rate 17mbit docsis" || return
	after=$(typed "qdisc change dev r1 root $kind buffer 2s") || return
	echo "$after"
	[[ $after = *"limit 77 "*"buffer 2s "*"rate 17Mbit overhead 18 mpu 64"* ]]
}

json() {
	t -s -j qdisc show dev r1 root | python3 -c "
import json, sys
shown, = json.load(sys.stdin)
print(shown)
assert shown['kind'] == '$kind' and shown['options']['limit'] == 77 and shown['packets'] == 0"
}

only_once() {
	! t qdisc add dev r1 root "$kind"
}

one_for_each_queue() {
	t qdisc replace dev r1 root handle 8: mq
	t qdisc replace dev r1 parent 8:1 "$kind" limit 3 &&
		t qdisc replace dev r1 parent 8:2 "$kind" limit 4 || return
	t qdisc show dev r1
	[ "$(t qdisc show dev r1 | grep -c "^qdisc $kind .* parent 8:")" -eq 2 ]
}

gone() {
	t qdisc del dev r1 root && ! t qdisc show dev r1 | grep "qdisc $kind"
}

trap net_down EXIT
net_up
# What r1 would say by itself would be counted.
ip netns exec rtr sysctl -qw net.ipv6.conf.r1.disable_ipv6=1
check "default" becomes "" "rate unlimited"
while IFS='|' read -r words shown; do
	check "$words" becomes "$words" "${shown:-$words}"
done <<-END
	limit 77
	memory_limit 1048576|memory_limit 1Mb
	flows 64
	buffer 2000ms|buffer 2s
	split_gso on
	split_gso off
	rate 17mbit|rate 17Mbit
	rate 99gbit|rate 99Gbit
	docsis|overhead 18 mpu 64 noatm
	pppoe-ptm ether-vlan|overhead 34 mpu 0 ptm
	overhead -4 mpu 84 atm
	ingress
END
check "a change keeps the rest" keeps_the_rest
check "JSON" json
while IFS='|' read -r words said; do
	check "refused: $words" refuses "$words" "$said"
done <<-END
	limit 0|Error: $kind: limit must be
	limit 5 buffer 1ms|Error: $kind: buffer must be
	memory_limit 4095|Error: $kind: memory_limit must be
	rate 0|Error: $kind: rate must be
	mpu 257|Error: $kind: mpu must be
	flows 8|Error: $kind: flows is fixed
	limit|$kind: limit: needs
	limit many|$kind: limit: "many" is not
	atm ptm|$kind: "atm" and "ptm" do not go together
	nosuch|What is "nosuch"?
END
check "added only once" only_once
check "one for each queue" one_for_each_queue
check "deleted" gone
finish
