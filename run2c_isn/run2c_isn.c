// SPDX-License-Identifier: GPL-2.0
/*
 * run2c_isn - begin TCP connections with numbers from which run2c can read ranks
 *
 * K. Avrachenkov, U. Ayesta, P. Brown, E. Nyberg: Differentiation between short and long
 * TCP flows: predictability of the response time, 2004, section III.
 *
 * For hosts. Of the initial sequence number that the kernel chooses for a connection
 * from or to a local port among `ports`, over IPv4 or IPv6, this leaves
 *
 *	bits from log2(span) on	  down to `low`		    the lowest
 *	+-----------------------+-------------------------+--------------+
 *	| as they were		| 0			  | as they were |
 *	+-----------------------+-------------------------+--------------+
 *
 * so that the rank of a segment is its number modulo `span`, but for the low bits. They
 * matter to nobody: they make the threshold of run2c differ by less than a packet.
 *
 * What it costs: with the defaults 20 of 32 bits are left for somebody to guess who
 * cannot see the packets. RFC 6528 wants all 32 to be unpredictable, and what depends
 * on them is how hard it is to forge a segment, above all a reset, from afar. So this
 * is not for hosts with long connections in the clear across networks of strangers,
 * such as routers that speak BGP. The clock that the kernel adds to its numbers is left
 * in the bits that stay, so that a connection's number differs from that of the one
 * before it of the same ports. But until the clock has gone on by `span`, for 0.27 s with
 * the default, it differs in the low bits only. Timestamps tell the two connections apart
 * then. Without them segments of the old one that are still under way may be taken for
 * ones of the new, and an end that has the old one in TIME_WAIT may take the new SYN for
 * an old one, so that the connection comes about only when it is sent again.
 *
 * Not changed are the numbers that the kernel chooses by itself: of a connection that
 * takes the place of one in TIME_WAIT, and of SYN cookies.
 *
 * The kernel's function is left as it is: a kretprobe changes the half of its result
 * that is the number. The other half, the offset of timestamps, is what cookies are
 * checked against.
 *
 * Parameters are written one at a time, under the kernel's lock for them. Handlers take
 * no lock. What they read are two words, each of them whole: which bits to clear, and at
 * which ports. These do not depend on each other, so it does not matter that a connection
 * that begins meanwhile may get one as it was and the other as it is.
 */

#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <shortfirst/compat.h>

#define RUN2C_ISN_SPAN		(4 << 20)
#define RUN2C_ISN_LOW		10

static struct {
	u32	span;		/* bytes, a power of two */
	u32	low;		/* bits */
	bool	enabled;
	bool	ready;		/* all parameters of loading are there */
} isn = { .span = RUN2C_ISN_SPAN, .low = RUN2C_ISN_LOW, .enabled = true };

/* What handlers read: the bits to clear, and the first and the last port, in one word */
static u32 isn_bits;
static u32 isn_ports = U16_MAX;

static void isn_set_bits(void)
{
	u32 bits = 0;

	if (isn.ready && isn.enabled)
		bits = (isn.span - 1) & ~(BIT(isn.low) - 1);
	WRITE_ONCE(isn_bits, bits);
}

/* Other than 0: nothing is to be done when this call returns. */
static int isn_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	u32 ports = READ_ONCE(isn_ports);
	u16 port = sf_isn_port(regs);

	return port < ports >> 16 || port > (u16)ports;
}

static int isn_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	sf_isn_clear(regs, READ_ONCE(isn_bits));
	return 0;
}

static struct kretprobe isn_ipv4 = {
	.kp.symbol_name = SF_ISN_IPV4,
	.entry_handler = isn_enter,
	.handler = isn_return,
};

static struct kretprobe isn_ipv6 = {
	.kp.symbol_name = SF_ISN_IPV6,
	.entry_handler = isn_enter,
	.handler = isn_return,
};

static struct kretprobe *isn_probes[] = {
	&isn_ipv4,
#if IS_ENABLED(CONFIG_IPV6)
	&isn_ipv6,
#endif
};

/* At loading either may come first, so both are looked at when both are there. */
static int isn_set_structure(u32 span, u32 low)
{
	if (isn.ready && (!is_power_of_2(span) || low > 30 || span >> 1 < BIT(low))) {
		pr_err("run2c_isn: span must be a power of two, and more than 2^low\n");
		return -EINVAL;
	}
	isn.span = span;
	isn.low = low;
	isn_set_bits();
	return 0;
}

static int isn_set_span(const char *text, const struct kernel_param *kp)
{
	u32 span;
	int err = kstrtou32(text, 0, &span);

	return err ?: isn_set_structure(span, isn.low);
}

static int isn_set_low(const char *text, const struct kernel_param *kp)
{
	u32 low;
	int err = kstrtou32(text, 0, &low);

	return err ?: isn_set_structure(isn.span, low);
}

static int isn_set_enabled(const char *text, const struct kernel_param *kp)
{
	int err = param_set_bool(text, kp);

	isn_set_bits();
	return err;
}

static int isn_set_ports(const char *text, const struct kernel_param *kp)
{
	u32 low, high;
	int end;

	/* Five digits, so that no number is too large for what it is read into */
	if (sscanf(text, "%5u-%5u%n", &low, &high, &end) != 2 || !sysfs_streq(text + end, "") ||
	    high > U16_MAX || low > high) {
		pr_err("run2c_isn: ports must be LOW-HIGH, within 0-65535\n");
		return -EINVAL;
	}
	WRITE_ONCE(isn_ports, low << 16 | high);
	return 0;
}

static int isn_get_ports(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u-%u\n", isn_ports >> 16, (u16)isn_ports);
}

/* Without this, missed=1 at loading would call a function that is not there. */
static int isn_set_missed(const char *text, const struct kernel_param *kp)
{
	return -EPERM;
}

/*
 * Either too many calls were under way, or one came in an interrupt of a handler: of any
 * probe, since a processor runs but one at a time.
 */
static int isn_get_missed(char *buffer, const struct kernel_param *kp)
{
	unsigned long missed = isn_ipv4.nmissed + isn_ipv4.kp.nmissed;

	missed += isn_ipv6.nmissed + isn_ipv6.kp.nmissed;
	return sysfs_emit(buffer, "%lu\n", missed);
}

static const struct kernel_param_ops isn_span_ops = {
	.set = isn_set_span,
	.get = param_get_uint,
};

static const struct kernel_param_ops isn_low_ops = {
	.set = isn_set_low,
	.get = param_get_uint,
};

static const struct kernel_param_ops isn_ports_ops = {
	.set = isn_set_ports,
	.get = isn_get_ports,
};

static const struct kernel_param_ops isn_enabled_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = isn_set_enabled,
	.get = param_get_bool,
};

static const struct kernel_param_ops isn_missed_ops = {
	.set = isn_set_missed,
	.get = isn_get_missed,
};

module_param_cb(span, &isn_span_ops, &isn.span, 0644);
MODULE_PARM_DESC(span, "distance of the numbers to begin with, bytes, a power of two");
module_param_cb(low, &isn_low_ops, &isn.low, 0644);
MODULE_PARM_DESC(low, "low bits that stay random");
module_param_cb(ports, &isn_ports_ops, NULL, 0644);
MODULE_PARM_DESC(ports, "LOW-HIGH: only connections whose local port is one of these");
module_param_cb(enabled, &isn_enabled_ops, &isn.enabled, 0644);
MODULE_PARM_DESC(enabled, "0: leave the numbers of new connections as they are");
module_param_cb(missed, &isn_missed_ops, NULL, 0444);
MODULE_PARM_DESC(missed, "calls that were not seen, so that the numbers stayed as they were");

static int __init isn_init(void)
{
	int err;
	u32 i;

	if (!SF_ISN_SUPPORTED)
		return -EOPNOTSUPP;
	/* They can be written from now on. */
	kernel_param_lock(THIS_MODULE);
	isn.ready = true;
	err = isn_set_structure(isn.span, isn.low);
	kernel_param_unlock(THIS_MODULE);
	if (err)
		return err;
	/* A call under way may be preempted, and others then begin on the same processor. */
	for (i = 0; i < ARRAY_SIZE(isn_probes); i++)
		isn_probes[i]->maxactive = 8 * num_possible_cpus();
	err = register_kretprobes(isn_probes, ARRAY_SIZE(isn_probes));
	if (err)
		pr_err("run2c_isn: this kernel's function for initial numbers cannot be probed (%d)\n",
		       err);
	return err;
}

static void __exit isn_exit(void)
{
	unregister_kretprobes(isn_probes, ARRAY_SIZE(isn_probes));
}

module_init(isn_init)
module_exit(isn_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Initial sequence numbers of TCP from which run2c can read ranks");
MODULE_LICENSE("GPL");
