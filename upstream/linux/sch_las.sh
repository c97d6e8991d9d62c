#!/bin/bash
# SPDX-License-Identifier: GPL-2.0

# A stream of UDP from H1 fills the link to H3, which LAS shapes to 2 Mbit/s, so
# that a slow machine can fill it, too. What H2 sends has to share it: short
# flows pass the stream by. H1 has a TBF of 4 Mbit/s, so that there is always
# twice as much as fits.
#
# +--------------------------+                     +--------------------------+
# | H1                       |                     | H2                       |
# |     + $h1                |                     |     + $h2                |
# |     | 192.0.2.1/28       |                     |     | 192.0.2.2/28       |
# |     | TBF 4Mbps          |                     |     |                    |
# +-----|--------------------+                     +-----|--------------------+
#       |                                                |
# +-----|------------------------------------------------|--------------------+
# | SW  |                                                |                    |
# |  +--|------------------------------------------------|----------------+   |
# |  |  + $swp1                                          + $swp2          |   |
# |  |                               BR                                   |   |
# |  |                                                                    |   |
# |  |                                + $swp3                             |   |
# |  |                                | LAS 2Mbps                         |   |
# |  +--------------------------------|-----------------------------------+   |
# +-----------------------------------|---------------------------------------+
#                                     |
#                               +-----|--------------------+
#                               | H3  + $h3                |
#                               |       192.0.2.3/28       |
#                               +--------------------------+

ALL_TESTS="
	ping_ipv4
	short_first_test
	codel_test
	new_flows_test
	priority_test
	class_test
	change_test
"

NUM_NETIFS=6
CHECK_TC="yes"
source lib.sh

PKTSZ=1400

h1_create()
{
	adf_simple_if_init $h1 192.0.2.1/28

	tc qdisc replace dev $h1 root handle 1: tbf \
	   rate 4Mbit burst 10K limit 1M
	defer tc qdisc del dev $h1 root
}

h2_create()
{
	adf_simple_if_init $h2 192.0.2.2/28
}

h3_create()
{
	adf_simple_if_init $h3 192.0.2.3/28
}

switch_create()
{
	ip link add dev br up type bridge
	defer ip link del dev br

	ip link set dev $swp1 up master br
	defer ip link set dev $swp1 down nomaster

	ip link set dev $swp2 up master br
	defer ip link set dev $swp2 down nomaster

	ip link set dev $swp3 up master br
	defer ip link set dev $swp3 down nomaster
}

setup_prepare()
{
	h1=${NETIFS[p1]}
	swp1=${NETIFS[p2]}

	h2=${NETIFS[p3]}
	swp2=${NETIFS[p4]}

	swp3=${NETIFS[p5]}
	h3=${NETIFS[p6]}

	h3_mac=$(mac_get $h3)

	adf_vrf_prepare

	h1_create
	h2_create
	h3_create
	switch_create
}

ping_ipv4()
{
	ping_test $h1 192.0.2.3 " from host 1"
	ping_test $h2 192.0.2.3 " from host 2"
}

las_install()
{
	tc qdisc replace dev $swp3 root handle 1: las rate 2Mbit "$@"
	defer tc qdisc del dev $swp3 root
}

las_stat()
{
	qdisc_stats_get $swp3 1: ".$1"
}

bulk_start()
{
	$MZ $h1 -p $PKTSZ -A 192.0.2.1 -B 192.0.2.3 -c 0 -q \
		-a own -b $h3_mac -t udp -d 20usec &
	defer stop_traffic $!
}

# Until so many bytes of the stream wait it is no load for anybody.
bulk_wait()
{
	busywait 10000 until_counter_is "> 5000" las_stat backlog > /dev/null
	check_err $? "The stream does not fill the link"
}

ping_h2()
{
	ip vrf exec v$h2 $PING -c 20 -i 0.1 -w 10 192.0.2.3
}

short_first_test()
{
	RET=0

	las_install
	bulk_start
	bulk_wait

	local told=$(ping_h2)
	local lost=$(sed -n 's/.* \([0-9.]*\)% packet loss.*/\1/p' <<< "$told")
	local worst=$(sed -n 's|^rtt .*/\([0-9]*\)[.0-9]*/[0-9.]* ms.*|\1|p' \
			<<< "$told")

	[[ $lost == 0 ]]
	check_err $? "$lost percent of a short flow's packets were lost"

	# A packet of the stream takes 5.8 ms, and its queue 20 ms or more.
	((worst < 18))
	check_err $? "A short flow's packet was under way for $worst ms"

	log_test "short flows first"
}

codel_test()
{
	RET=0

	las_install buffer 4s
	bulk_start
	bulk_wait

	busywait 10000 until_counter_is "> 0" las_stat drop_codel > /dev/null
	check_err $? "CoDel drops nothing of a flow that only stands"

	log_test "CoDel on a long flow"
}

new_flows_test()
{
	RET=0

	las_install
	$MZ $h1 -p $PKTSZ -A 192.0.2.1 -B 192.0.2.3 -c 0 -q -a own -b $h3_mac \
		-t udp "sp=1024-65535,dp=1024-65535" -d 5usec &
	defer stop_traffic $!

	busywait 10000 until_counter_is "> 0" las_stat drop_new > /dev/null
	check_err $? "No new flow is refused, however many there are"

	local waiting=$(las_stat flows_new)

	((waiting <= 256))
	check_err $? "$waiting new flows wait, of 256 that may"

	log_test "bound on new flows"
}

priority_test()
{
	RET=0

	las_install
	bulk_start
	bulk_wait

	tc filter add dev $swp3 parent 1: protocol ip prio 1 flower \
		ip_proto udp classid 1:2
	defer tc filter del dev $swp3 parent 1: prio 1

	# A flow of the priority class is never long.
	busywait 10000 until_counter_is "== 0" las_stat flows_long > /dev/null
	check_err $? "The stream is a long flow in the priority class"

	log_test "priority class"
}

class_test()
{
	RET=0

	las_install hosts src
	bulk_start
	bulk_wait

	busywait 10000 until_counter_is "> 0" las_stat flows_long > /dev/null
	check_err $? "The stream is no long flow"

	local told=$(tc -j -s class show dev $swp3)

	jq -e '.[] | select(.type == "flow" and .src == "192.0.2.1" and
			    .proto == "udp" and .sort == "long")' \
		<<< "$told" > /dev/null
	check_err $? "The stream is not told as a long flow"

	jq -e '.[] | select(.type == "host" and .src == "192.0.2.1" and
			    .flows >= 1)' <<< "$told" > /dev/null
	check_err $? "The host of the stream is not told"

	log_test "classes"
}

change_test()
{
	RET=0

	las_install
	bulk_start
	bulk_wait

	tc qdisc change dev $swp3 handle 1: root las limit 1
	check_err $? "limit cannot be changed"

	local waiting=$(las_stat qlen)

	((waiting <= 2))
	check_err $? "$waiting packets wait, of 1 that may"

	tc qdisc change dev $swp3 handle 1: root las flows 64 2> /dev/null
	check_fail $? "flows can be changed"

	log_test "change"
}

trap cleanup EXIT

setup_prepare
setup_wait

tests_run

exit $EXIT_STATUS
