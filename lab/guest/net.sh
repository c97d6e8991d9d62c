# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# The lab's network, built inside a virtual machine by whoever sources this:
#
#   netns snd            netns rtr                    netns rcv
#   snd0 <-------------> rtr0   rtr1 <--------------> rcv0
#   netem RTT/2 -->             HTB $RATE -->         <-- netem RTT/2
#                                 leaf 10: $QDISC
#
# rcv connects to snd and downloads: data flow from snd to rcv. Only the router's
# egress to rcv is a bottleneck; with NAT or ISP it is an ifb where packets from snd come in.
# With SHAPES the qdisc is told the rate itself, and there is no HTB. With REVERSE what comes in from
# rcv has such a qdisc, too, on an ifb. "shortfirst OPTION ..." is that command, which sets up both.

bottleneck=rtr1
RATE=${RATE:-10mbit}
RTT_MS=${RTT_MS:-6}
QDISC=${QDISC:-pfifo limit 100}
SIZES= # an option of flowgen

# load_srpt [limit=PACKETS]: the lab's own qdisc, without options for tc, is told the sizes.
load_srpt() {
	# shellcheck disable=SC2154 # set by who sources this
	insmod "$here/modules/sch_srpt.ko" "$@"
	QDISC=srpt
	SIZES="--sizes /sys/kernel/debug/sch_srpt"
}

# Many commands are one batch: in user-mode Linux to start a program takes 8 ms, which is a third
# of what a short run takes in all.

# link NS DEV NET HOST OTHER: addresses, routes and the neighbour OTHER
link() {
	ip -n "$1" -batch - <<-END
		link set $2 up
		addr add 10.0.$3.$4/24 dev $2
		addr add fd00:0:0:$3::$4/64 dev $2 nodad
		neigh add 10.0.$3.$5 lladdr 02:00:00:00:0$3:0$5 dev $2 nud permanent
		neigh add fd00:0:0:$3::$5 lladdr 02:00:00:00:0$3:0$5 dev $2 nud permanent
	END
	# Packets as they are on a wire, or the stack's bundles of them
	ip netns exec "$1" ethtool -K "$2" tso "${GSO:-off}" gso "${GSO:-off}" gro "${GSO:-off}"
}

namespace() { # NAME
	ip netns add "$1"
	ip -n "$1" link set lo up
	# No link-local addresses: nothing but the flows sends packets
	ip netns exec "$1" sysctl -qw \
		net.ipv6.conf.default.addr_gen_mode=1 \
		net.ipv6.conf.default.accept_ra=0 \
		net.ipv4.tcp_no_metrics_save=1 \
		net.ipv4.ip_local_port_range="1024 65535" \
		net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1
}

net_up() {
	local ns half

	case $QDISC in
	srpt) load_srpt ;;
	"srpt limit "*) load_srpt "limit=${QDISC##* }" ;;
	esac
	for ns in snd rtr rcv; do
		namespace "$ns"
	done
	if [ -n "${ISP-}" ]; then
		isp_up
	else
		ip link add snd0 address 02:00:00:00:01:01 netns snd type veth \
			peer name rtr0 address 02:00:00:00:01:02 netns rtr
	fi
	ip link add rtr1 address 02:00:00:00:02:02 netns rtr type veth \
		peer name rcv0 address 02:00:00:00:02:01 netns rcv
	link snd snd0 1 1 2
	link rtr rtr0 1 2 1
	link rtr rtr1 2 2 1
	link rcv rcv0 2 1 2
	ip -n snd -batch - <<-END
		route add default via 10.0.1.2
		route add default via fd00:0:0:1::2
	END
	ip -n rcv -batch - <<-END
		route add default via 10.0.2.2
		route add default via fd00:0:0:2::2
	END

	half=$((RTT_MS * 500))us
	# shellcheck disable=SC2086 # two words
	tc -n snd qdisc add dev snd0 root netem delay "$half" limit 1000000 \
		${LOSS:+loss "$LOSS%"}
	tc -n rcv qdisc add dev rcv0 root netem delay "$half" limit 1000000
	[ -z "${NAT-}${ISP-}" ] || ifb_up
	[ -z "${NAT-}" ] || nat_up
	if [ -n "${SHAPES-}" ]; then
		shape_up
		return
	fi
	# A link sends one packet at a time. By default HTB lets two pass at once
	# after each idle moment, so that the empty link of the floor would be
	# faster than any link is.
	tc -n rtr -batch - <<-END
		qdisc add dev $bottleneck root handle 1: htb default 1
		class add dev $bottleneck parent 1: classid 1:1 htb rate $RATE \
			quantum 1514 burst 100 cburst 100
		qdisc add dev $bottleneck parent 1:1 handle 10: $QDISC
	END
}

shape_up() {
	case $QDISC in
	"shortfirst "*)
		# shellcheck disable=SC2086 # options
		ip netns exec rtr shortfirst start $bottleneck ${QDISC#shortfirst }
		return
		;;
	esac
	# shellcheck disable=SC2086 # the kind and its options
	tc -n rtr qdisc add dev $bottleneck root handle 10: $QDISC
	[ -n "${REVERSE-}" ] || return 0
	ip -n rtr link add ifb1 type ifb
	ip -n rtr link set ifb1 up
	tc -n rtr -batch - <<-END
		qdisc add dev ifb1 root handle 10: $QDISC ingress
		qdisc add dev $bottleneck clsact
		filter add dev $bottleneck ingress matchall action mirred egress redirect dev ifb1
	END
}

# isp_up: from snd to the router is the ISP's link, "RATE limit PACKETS". What comes in at one of
# its ends goes out at the other.
isp_up() {
	namespace isp
	ip link add snd0 address 02:00:00:00:01:01 netns snd type veth peer name isp0 netns isp
	ip link add rtr0 address 02:00:00:00:01:02 netns rtr type veth peer name isp1 netns isp
	ip -n isp link set isp0 up
	ip -n isp link set isp1 up
	tc -n isp -batch - <<-END
		qdisc add dev isp0 clsact
		qdisc add dev isp1 clsact
		filter add dev isp0 ingress matchall action mirred egress redirect dev isp1
		filter add dev isp1 ingress matchall action mirred egress redirect dev isp0
		qdisc add dev isp1 root netem rate $ISP
	END
}

# ifb_up: the bottleneck is where packets come in from snd
ifb_up() {
	bottleneck=ifb0
	ip -n rtr link add ifb0 type ifb
	ip -n rtr link set ifb0 up
	tc -n rtr -batch - <<-END
		qdisc add dev rtr0 clsact
		filter add dev rtr0 ingress matchall action mirred egress redirect dev ifb0
	END
}

# nat_up: what rcv's hosts send over IPv4 has the router's address, 10.0.1.2, at snd. The bottleneck
# is before that is undone in what comes back. What comes to port 9 is the host's with number $NAT.
nat_up() {
	ip netns exec rtr nft -f - <<-END
		table ip nat {
			chain leaves {
				type nat hook postrouting priority srcnat;
				oifname "rtr0" masquerade;
			}
			chain comes {
				type nat hook prerouting priority dstnat;
				iifname "rtr0" udp dport 9 dnat to 10.0.2.$NAT;
				iifname "rtr0" tcp dport 9 dnat to 10.0.2.$NAT;
			}
		}
	END
}

# own_links: before the bottleneck, for each that gets one (own_link). What nobody has claimed
# shares the first band.
own_links() {
	tc -n snd qdisc replace dev snd0 root handle 1: prio bands 16 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
}

# own_link N NETEM-OPTION...: the N-th, of 0 and more
own_link() {
	local band

	band=$(printf %x $(($1 + 2)))
	shift
	tc -n snd qdisc add dev snd0 parent "1:$band" netem "$@"
}

# access_links "RATE/RTT-IN-MS ...": a link of each sender's own, of that rate and round trip.
# What is sent from port 5000 + N takes the N-th.
access_links() {
	local n=0 place

	own_links
	for place in $1; do
		own_link $n rate "${place%/*}" delay "${place#*/}ms" limit 100000
		access_link $((5000 + n)) $n
		n=$((n + 1))
	done
}

# bulk_links "RTT-IN-MS ...": the delay of what is sent from port 7000 + N is the N-th
bulk_links() {
	local n=0 rtt

	own_links
	for rtt in $1; do
		own_link $n delay "${rtt}ms" limit 1000000
		access_link $((7000 + n)) $n
		n=$((n + 1))
	done
}

# access_link PORT N: what is sent from there takes the N-th, of 0 and more
access_link() {
	tc -n snd filter add dev snd0 parent 1: protocol ip u32 \
		match ip sport "$1" 0xffff flowid "1:$(printf %x $(($2 + 2)))"
}

# old_tcp NS: TCP as it was in 2004; an initial window of 1 and retransmission after 1 s
# and more are matters of the route
old_tcp() {
	ip netns exec "$1" sysctl -qw net.ipv4.tcp_congestion_control=reno \
		net.ipv4.tcp_sack=0 net.ipv4.tcp_frto=0 \
		net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_recovery=0
}

# more_hosts END "NUMBER ...": it has the addresses of these, too: rcv is 10.0.2.NUMBER. Who does not
# choose has the first one: of IPv6 the others are deprecated.
more_hosts() {
	local host net=2 near=1

	[ "$1" = rcv ] || { net=1 near=0; }
	for host in $2; do
		echo "addr add 10.0.$net.$host/24 dev ${1}0"
		printf 'addr add fd00:0:0:%s::%x/64 dev %s nodad preferred_lft 0\n' \
			$net "$host" "${1}0"
	done | ip -n "$1" -batch -
	for host in $2; do
		echo "10.0.$net.$host"
		printf 'fd00:0:0:%s::%x\n' $net "$host"
	done | sed "s/.*/neigh add & lladdr 02:00:00:00:0$net:01 dev rtr$near nud permanent/" |
		ip -n rtr -batch -
}

# What comes to port 9 goes no further than the device
discard() {
	tc -n rcv qdisc add dev rcv0 clsact
	tc -n rcv filter add dev rcv0 ingress pref 1 protocol ip u32 \
		match ip dport 9 0xffff action drop
	tc -n rcv filter add dev rcv0 ingress pref 2 protocol ipv6 u32 \
		match ip6 dport 9 0xffff action drop
}

# tunnel_up: between the namespaces snd.in and rcv.in, 10.0.5.1 and 10.0.5.2, all is in one UDP
# flow. Frames to a neighbour are not the device's at the other end of the pair: tunnel alone
# takes them there.
tunnel_up() {
	local end n=1

	for end in snd rcv; do
		namespace "$end.in"
		ip link add tun0 address "02:00:00:00:05:0$n" mtu 1420 netns "$end.in" type veth \
			peer name out0 address "02:00:00:00:05:1$n" mtu 1420 netns "$end"
		link "$end.in" tun0 5 $n $((3 - n))
		# A checksum is there before the packet is in another
		ip netns exec "$end.in" ethtool -K tun0 tx off
		ip -n "$end.in" route add default via "10.0.5.$((3 - n))"
		ip -n "$end" link set out0 up
		n=$((n + 1))
	done
	# shellcheck disable=SC2154 # set by who sources this
	"$here/tunnel" --snd snd --rcv rcv --dev out0 --addr 10.0.1.1 --peer 10.0.2.1 \
		>/run/tunnel.log &
	while [ ! -s /run/tunnel.log ]; do
		kill -0 $! # else it has said why
		sleep 0.01
	done
}

# vpn_up: what goes between 10.0.5.1 at snd and 10.0.5.2 at rcv is in IPsec from the router on, which
# encrypts nothing, but hides what is inside.
vpn_up() {
	local end mode="proto esp mode tunnel"
	local out="tmpl src 10.0.2.2 dst 10.0.2.1 $mode" back="tmpl src 10.0.2.1 dst 10.0.2.2 $mode"

	ip -n snd addr add 10.0.5.1/32 dev snd0
	ip -n rcv addr add 10.0.5.2/32 dev rcv0
	ip -n rcv route add 10.0.5.1 via 10.0.2.2 src 10.0.5.2
	ip -n rtr -batch - <<-END
		route add 10.0.5.1 via 10.0.1.1
		route add 10.0.5.2 via 10.0.2.1
		xfrm policy add dst 10.0.5.2/32 dir out $out
		xfrm policy add dst 10.0.5.1/32 dir fwd $back
	END
	ip -n rcv -batch - <<-END
		xfrm policy add dst 10.0.5.1/32 dir out $back
		xfrm policy add dst 10.0.5.2/32 dir in $out
	END
	for end in rtr rcv; do
		# shellcheck disable=SC2086 # words
		ip -n $end xfrm state add src 10.0.2.2 dst 10.0.2.1 spi 5 $mode \
			enc "ecb(cipher_null)" "" auth digest_null ""
		# shellcheck disable=SC2086 # words
		ip -n $end xfrm state add src 10.0.2.1 dst 10.0.2.2 spi 6 $mode \
			enc "ecb(cipher_null)" "" auth digest_null ""
	done
}

# pair_up POLICY "PORT[=TYPE] ..." "OPTION ...": a sched-tcp at each end. What rcv connects to at its
# own address, to one of these ports, is taken to the same port of snd, as of that type. Options are
# lines of both configurations, with _ for a blank.
pair_up() {
	local end far=snd near=rcv line port type

	for end in $far $near; do
		{
			echo "control = \"/run/pair-$end.control\""
			for line in $3; do
				echo "$line" | tr _ ' '
			done
			if [ $end = $far ]; then
				echo 'listen = {"10.0.1.1:4343"}'
				echo 'peer site { tunnel = {"10.0.2.0/24"} policy = '"$1"
				echo 'allow = {"10.0.1.0/24:1-65535"} }'
			else
				echo 'peer site { address = "10.0.1.1:4343" tunnel = {"10.0.1.0/24"}'
				echo "policy = $1 }"
			fi
			for port in $2; do
				[ $end = $near ] || continue
				type=
				[ "${port#*=}" = "$port" ] || type="type = ${port#*=}"
				port=${port%=*}
				echo "forward { listen = \"10.0.2.1:$port\" to = \"10.0.1.1:$port\""
				echo "peer = site proxy-protocol = yes $type }"
			done
		} >"/run/pair-$end.conf"
		ip netns exec $end sched-tcp -c "/run/pair-$end.conf" 2>"/run/pair-$end.log" &
		pair_pids="${pair_pids-} $!"
	done
	for port in $2; do
		until ip netns exec $near ss -Hltn "sport = :${port%=*}" | grep -q . &&
			ip netns exec $far ss -Hltn "sport = :4343" | grep -q .; do
			pair_lives
			sleep 0.01
		done
	done
}

# Whether both still are; if not, what they have said
pair_lives() {
	local pid

	for pid in $pair_pids; do
		kill -0 "$pid" || {
			cat /run/pair-snd.log /run/pair-rcv.log
			return 1
		}
	done
}

# The bottleneck's statistics, for people on the console, as JSON on fd 3
net_stats() {
	tc -n rtr -s qdisc show dev "$bottleneck"
	tc -n rtr -s -j qdisc show dev "$bottleneck" >&3
}
