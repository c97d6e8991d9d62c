#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# One run of flows through one qdisc, inside a virtual machine:
#   scenario.sh KEY=VALUE...
#
#   QDISC, RATE, RTT_MS, SHAPES, ISP  as in net.sh
#   LINKS          "RATE/RTT-IN-MS ...": each sender's own link, which is not the bottleneck.
#                  The N-th has port 5000 + N, and bulk's flows are the senders' in turn
#   TCP            "ns2": Reno without SACK and the like, as it was in 2004
#   ROUTE          what routes tell TCP: "window 29200 initcwnd 1 rto_min 1s"
#   CONGESTION     the congestion control
#   ECN            1: ask for it, both ends
#   SOCKET_MEMORY  the most that a socket may have, bytes
#   ISN            "FIRST-LAST": sender's ports with run2c_isn
#   FLOWGEN, BULK  options of flowgen and bulk; without any they are not there
#   CBR            flows of cbr
#   AFTER          seconds until flowgen begins
#   RTTS           "RTT-IN-MS ...": of each of bulk's flows, all of its round trip
#   ACCESS         the rate of a link of bulk's own, half of RTT_MS long
#   REVERSE        1: bulk's data go from rcv to snd, through a qdisc of their own (net.sh)
#   CLASSID        the qdisc's class for what comes from there
#   SAMPLES        the kind, to tell which flows it has sampled
#   LENGTHS        "SECONDS TIMES": so many times, each so many seconds, what tc shows of the qdisc
#   QUEUES         options of queues, which notes the queue of each flow
#   RECORD         1: when each packet came to the bottleneck and when it left
#   SPREAD         1: flowgen's flows are to hosts of their own, by the sender's port
#   HOSTS          "NUMBER ...": rcv's others, beside 10.0.2.1
#   SENDERS        "NUMBER ...": snd's others, beside 10.0.1.1
#   IPV6           1: what is not bulk's is over IPv6
#   NAT            as in net.sh: rcv is behind it
#   FETCH, PACKETS options and groups of fetch and packets
#   TUNNEL         1: what is bulk's and cbr's goes through a tunnel (net.sh)
#   VPN            1: the same through IPsec that begins in the router (net.sh)
#   GSO            on: TCP sends bundles of packets (net.sh)
#   LOSS           percent of snd's packets that are lost before the bottleneck
#   PAIR           the policy of a pair of sched-tcp (net.sh), by way of which flowgen's downloads
#                  go, and those groups of fetch that say so
#   PAIR_PORTS     "PORT[=TYPE] ...": of the senders, and for the policy mu what comes from there
#   PAIR_OPTIONS   more of the pair's configuration
#
#   netns snd                    netns rtr (net.sh)
#   snd0 <---------------------> rtr0   rtr1 <---> rcv
#   with LINKS or RTTS: prio,    rtr2
#   a netem for each              ^
#   netns bulk, with ACCESS       |
#   bulk0 <-----------------------+
#
# What was measured goes to the second serial port: flowgen's list, the flows of bulk, cbr, fetch
# and packets, the queues, a line "lengths UPTIME JSON" for each time, the packets recorded, a line
# "long SENDER-PORT RECEIVER-PORT" for each flow that was sampled, then a line of JSON from tc.
set -euf

here=${0%/*}
for word; do
	export "${word?}"
done
# shellcheck source=lab/guest/net.sh
. "$here/net.sh"

# generate PROGRAM OPTION...: only one of the programs says how far it is
generate() {
	local name=$1

	shift
	set -- "$here/$name" --rcv rcv "$@"
	case $name in
	flowgen | bulk | fetch) set -- "$@" --sink /sys/kernel/debug/tcp_sink ;;
	esac
	case $name in
	flowgen) set -- "$@" --addr "$sender" ${SPREAD:+--hosts "$receiver"} ${PAIR:+--via "$receiver"} ;;
	fetch) set -- "$@" --addr "$sender" --hosts "$receiver" ${PAIR:+--via "$receiver"} ;;
	packets) set -- "$@" --addr "$sender" --hosts "$entrance" ;;
	esac
	if [ "$name" = "$speaker" ]; then
		"$@"
		return
	fi
	"$@" >"/run/$name.log" || {
		cat "/run/$name.log"
		return 1
	}
	grep -v ^progress "/run/$name.log" || :
}

# The way of bulk's flows from behind ACCESS
access_up() {
	ip netns add bulk
	ip link add bulk0 address 02:00:00:00:03:01 netns bulk type veth \
		peer name rtr2 address 02:00:00:00:03:02 netns rtr
	link bulk bulk0 3 1 2
	link rtr rtr2 3 2 1
	ip -n bulk route add default via 10.0.3.2
	tc -n bulk qdisc add dev bulk0 root netem delay "$((RTT_MS * 500))us" \
		rate "$ACCESS" limit 100
	[ -z "${CLASSID-}" ] || tc -n rtr filter add dev rtr1 parent 10: protocol ip u32 \
		match ip src 10.0.3.1 classid "$CLASSID"
}

note_lengths() { # SECONDS TIMES
	local up

	for _ in $(seq "$2"); do
		read -r up _ </proc/uptime
		echo "lengths $up $(tc -n rtr -s -j qdisc show dev "$bottleneck")"
		sleep "$1"
	done >/run/lengths
}

exec 3>/dev/ttyS1
insmod "$here/modules/tcp_sink.ko"
if [ -n "${SAMPLES-}" ]; then
	rmmod "sch_$SAMPLES"
	insmod "$here/modules/${SAMPLES}_watch.ko" # is the same, and takes notes
fi
# Network namespaces begin with that of the first one
[ -z "${CONGESTION-}" ] || sysctl -qw net.ipv4.tcp_congestion_control="$CONGESTION"
net_up
ends="snd rcv"
if [ -n "${LINKS-}" ]; then
	access_links "$LINKS"
	if [ -n "${BULK-}" ]; then
		senders=$(echo "$LINKS" | wc -w)
		for n in $(seq 0 63); do
			access_link $((7000 + n)) $((n % senders))
		done
	fi
fi
[ -z "${RTTS-}" ] || bulk_links "$RTTS"
bulk_from=snd
bulk_to=rcv
bulk_address=10.0.1.1
cbr_from=snd
cbr_to=rcv
sender=10.0.1.1
receiver=10.0.2.1
if [ -n "${IPV6-}" ]; then
	sender=fd00:0:0:1::1
	receiver=fd00:0:0:2::1
fi
cbr_address=$receiver
entrance=$receiver # where what rcv has not asked for is sent
if [ -n "${NAT-}" ]; then
	entrance=10.0.1.2
	cbr_address="$entrance --from $sender"
fi
if [ -n "${ACCESS-}" ]; then
	access_up
	ends="$ends bulk"
	bulk_from=bulk
	bulk_address=10.0.3.1
fi
if [ -n "${REVERSE-}" ]; then
	bulk_from=rcv
	bulk_to=snd
	bulk_address=10.0.2.1
fi
[ -z "${HOSTS-}" ] || more_hosts rcv "$HOSTS"
[ -z "${SENDERS-}" ] || more_hosts snd "$SENDERS"
[ -z "${PACKETS-}" ] || discard
if [ -n "${TUNNEL-}" ]; then
	tunnel_up
	tunnel_pid=$!
	ends="$ends snd.in rcv.in"
	bulk_from=snd.in
	bulk_to=rcv.in
	bulk_address=10.0.5.1
	cbr_from=snd.in
	cbr_to=rcv.in
	cbr_address=10.0.5.2
fi
if [ -n "${VPN-}" ]; then
	vpn_up
	bulk_address=10.0.5.1
	cbr_address=10.0.5.2
fi
for ns in $ends; do
	[ "${TCP-}" != ns2 ] || old_tcp "$ns"
	[ -z "${ECN-}" ] || ip netns exec "$ns" sysctl -qw net.ipv4.tcp_ecn="$ECN"
	[ -z "${SOCKET_MEMORY-}" ] || ip netns exec "$ns" sysctl -qw \
		net.ipv4.tcp_rmem="4096 131072 $SOCKET_MEMORY" \
		net.ipv4.tcp_wmem="4096 65536 $SOCKET_MEMORY"
	to=default
	case $ns in
	*.in) to=10.0.5.0/24 ;; # the other end is on the same link
	esac
	# shellcheck disable=SC2046,SC2086 # options
	[ -z "${ROUTE-}" ] || ip -n "$ns" route change \
		$(ip -n "$ns" -4 route show $to) $ROUTE
done
isn=/sys/module/run2c_isn/parameters
[ -z "${ISN-}" ] || echo "$ISN" >$isn/ports

[ -z "${PAIR-}" ] || pair_up "$PAIR" "$PAIR_PORTS" "${PAIR_OPTIONS-}"

if [ -n "${RECORD-}" ]; then
	"$here/record" --netns rtr --in rtr0 --out "$bottleneck" --file /run/record \
		>/run/record.log &
	record_pid=$!
	while [ ! -s /run/record.log ]; do
		kill -0 $record_pid # else it has said why
		sleep 0.01
	done
fi

# cbr counts all that there is to do, the others only their part
speaker=${CBR:+cbr}
speaker=${speaker:-${FLOWGEN:+flowgen}}
speaker=${speaker:-${BULK:+bulk}}
speaker=${speaker:-${FETCH:+fetch}}
speaker=${speaker:-packets}
# shellcheck disable=SC2086 # options, flows
{
	if [ -n "${LENGTHS-}" ]; then
		note_lengths $LENGTHS &
		lengths_pid=$!
	fi
	if [ -n "${QUEUES-}" ]; then
		"$here/queues" --netns rtr --dev "$bottleneck" --out /run/queues $QUEUES &
		queues_pid=$!
	fi
	if [ -n "${BULK-}" ]; then
		generate bulk --snd $bulk_from --rcv $bulk_to --addr $bulk_address --out /run/bulk $BULK &
		bulk_pid=$!
	fi
	if [ -n "${CBR-}" ]; then
		generate cbr --snd $cbr_from --rcv $cbr_to --addr $cbr_address --out /run/cbr $CBR &
		cbr_pid=$!
	fi
	if [ -n "${FETCH-}" ]; then
		generate fetch --snd snd --out /run/fetch $FETCH &
		fetch_pid=$!
	fi
	if [ -n "${PACKETS-}" ]; then
		generate packets --snd snd --dev rcv0 --out /run/packets $PACKETS &
		packets_pid=$!
	fi
	if [ -n "${FLOWGEN-}" ]; then
		[ -z "${AFTER-}" ] || sleep "$AFTER"
		generate flowgen --snd snd --out /dev/ttyS1 $SIZES $FLOWGEN
	fi
}
if [ -n "${BULK-}" ]; then
	wait "$bulk_pid"
	cat /run/bulk >&3
fi
if [ -n "${CBR-}" ]; then
	wait "$cbr_pid"
	cat /run/cbr >&3
fi
if [ -n "${FETCH-}" ]; then
	wait "$fetch_pid"
	cat /run/fetch >&3
fi
if [ -n "${PACKETS-}" ]; then
	wait "$packets_pid"
	cat /run/packets >&3
fi
if [ -n "${QUEUES-}" ]; then
	wait "$queues_pid"
	cat /run/queues >&3
fi
if [ -n "${LENGTHS-}" ]; then
	wait "$lengths_pid"
	cat /run/lengths >&3
fi
if [ -n "${RECORD-}" ]; then
	kill "$record_pid"
	wait "$record_pid"
	cat /run/record >&3
fi
[ -z "${TUNNEL-}" ] || kill "$tunnel_pid" # unless it has failed
if [ -n "${PAIR-}" ]; then
	pair_lives
	# shellcheck disable=SC2086 # two
	kill $pair_pids
	cat /run/pair-snd.log /run/pair-rcv.log
fi

if [ -n "${ISN-}" ] && [ "$(cat $isn/missed)" != 0 ]; then
	echo "connections of which the number was left as it was"
	exit 1
fi
[ -z "${SAMPLES-}" ] || sed "s/^/long /" "/sys/kernel/debug/${SAMPLES}_watch" >&3
net_stats
