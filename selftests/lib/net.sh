# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A sender, a router and a receiver. Data flow from left to right, the router's
# r1 is where the qdisc under test goes.
#
#   netns snd              netns rtr                netns rcv
#   s0 ---------------- r0           r1 ---------------- c0
#   10.0.1.1      10.0.1.2           10.0.2.2      10.0.2.1
#   fd00:1::1    fd00:1::2           fd00:2::2    fd00:2::1

net_up() {
	local ns

	for ns in snd rtr rcv; do
		ip netns add $ns
		ip -n $ns link set lo up
		ip netns exec $ns sysctl -qw net.ipv6.conf.default.accept_dad=0 \
			net.ipv6.conf.default.keep_addr_on_down=1
	done
	ip netns exec rtr sysctl -qw net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1
	ip link add s0 netns snd type veth peer name r0 netns rtr
	ip link add r1 numtxqueues 2 numrxqueues 2 netns rtr type veth \
		peer name c0 numtxqueues 2 numrxqueues 2 netns rcv
	net_address snd s0 1 1
	net_address rtr r0 1 2
	net_address rtr r1 2 2
	net_address rcv c0 2 1
	ip -n snd route add default via 10.0.1.2
	ip -n snd route add default via fd00:1::2
	ip -n rcv route add default via 10.0.2.2
	ip -n rcv route add default via fd00:2::2
}

net_address() {
	ip -n "$1" link set "$2" up
	ip -n "$1" addr add "10.0.$3.$4/24" dev "$2"
	ip -n "$1" addr add "fd00:$3::$4/64" dev "$2" nodad
}

net_down() {
	local ns

	for ns in snd rtr rcv; do
		ip netns del $ns 2>/dev/null
	done
}

# What is not too much for senders in here, a rate or a number of bytes: on the
# kernels that look for bugs, which are slower, the second
fillable() { # NUMBER NUMBER-ON-DEBUG
	case $(uname -r) in
	*-debug | *-sanitized) echo "$2" ;;
	*) echo "$1" ;;
	esac
}
