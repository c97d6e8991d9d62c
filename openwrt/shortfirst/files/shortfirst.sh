# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# What las.qos and sqf.qos have in common, for sqm-scripts: $QDISC at the root of $IFACE, and at that
# of $DEV, an ifb, for what comes in. The qdisc shapes by itself and knows the link, so that neither
# HTB nor stab is needed. Variables in capitals are those of sqm's defaults.sh.

# shellcheck source=/dev/null
. "$SQM_LIB_DIR/defaults.sh"

# tc, or if that has no plugin (OpenWrt's tc-tiny) what does the same
sf_tc() {
	case $("$TC_BINARY" qdisc add dev lo root "$QDISC" help 2>&1) in
	Usage:*) $TC "$@" ;;
	*) cmd_wrapper shortfirst-nl shortfirst-nl "$@" ;;
	esac
}

# The overhead is what an IP packet has beside itself, as cake has it.
sf_link() {
	case $LINKLAYER in
	none) ;;
	atm | adsl) echo "overhead $OVERHEAD mpu $STAB_MPU atm" ;;
	*) echo "overhead $OVERHEAD mpu $STAB_MPU" ;;
	esac
}

# Words, of which there may be none or several
# shellcheck disable=SC2046,SC2086
egress() {
	SILENT=1 $TC qdisc del dev "$IFACE" root
	sf_tc qdisc add dev "$IFACE" root "$QDISC" rate "${UPLINK}kbit" $(sf_link) $EQDISC_OPTS
}

# shellcheck disable=SC2046,SC2086
ingress() {
	SILENT=1 $TC qdisc del dev "$IFACE" handle ffff: ingress
	$TC qdisc add dev "$IFACE" handle ffff: ingress
	SILENT=1 $TC qdisc del dev "$DEV" root
	sf_tc qdisc add dev "$DEV" root "$QDISC" rate "${DOWNLINK}kbit" $(sf_link) \
		ingress $IQDISC_OPTS
	$IP link set dev "$DEV" up
	$TC filter add dev "$IFACE" parent ffff: protocol all prio 10 \
		u32 match u32 0 0 action mirred egress redirect dev "$DEV"
}
