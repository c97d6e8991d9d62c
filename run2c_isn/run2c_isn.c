// SPDX-License-Identifier: GPL-2.0
/*
 * run2c_isn - begin TCP connections with numbers from which run2c can read ranks
 *
 * K. Avrachenkov, U. Ayesta, P. Brown, E. Nyberg: Differentiation between short and long
 * TCP flows: predictability of the response time, 2004, section III.
 *
 * For hosts. Of the initial sequence number that the kernel chooses for a connection,
 * made here or accepted, over IPv4 or IPv6, this leaves
 *
 *	31	    span-1		     2^low-1	       0
 *	+-------------+--------------------------+--------------+
 *	| as it was   | 0			 | as it was	|
 *	+-------------+--------------------------+--------------+
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
 * before it of the same ports.
 *
 * Not changed are the numbers that the kernel chooses by itself: of a connection that
 * takes the place of one in TIME_WAIT, and of SYN cookies.
 *
 * The kernel's function is left as it is: a kretprobe changes the half of its result
 * that is the number. The other half, the offset of timestamps, is what cookies are
 * checked against.
 */

#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#define RUN2C_ISN_SPAN		(4 << 20)
#define RUN2C_ISN_LOW		10

static struct {
	u32	span;		/* bytes, a power of two */
	u32	low;		/* bits */
	bool	enabled;
} isn = { RUN2C_ISN_SPAN, RUN2C_ISN_LOW, true };

/* The bits that stay as the kernel has chosen them */
static u32 isn_mask;

static void isn_set_mask(void)
{
	u32 mask = ~(isn.span - 1) | (BIT(isn.low) - 1);

	WRITE_ONCE(isn_mask, isn.enabled ? mask : U32_MAX);
}

static int isn_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long both = regs_return_value(regs);
	u32 cleared = ~READ_ONCE(isn_mask);

	/* In memory the number is the first half. */
	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		both &= ~((u64)cleared << 32);
	else
		both &= ~(u64)cleared;
	regs_set_return_value(regs, both);
	return 0;
}

static struct kretprobe isn_probe[] = {
	{
		.kp.symbol_name = "secure_tcp_seq_and_ts_off",
		.handler = isn_return,
	}, {
		.kp.symbol_name = "secure_tcpv6_seq_and_ts_off",
		.handler = isn_return,
	},
};

static struct kretprobe *isn_probes[] = { &isn_probe[0], &isn_probe[1] };

static int isn_set_span(const char *text, const struct kernel_param *kp)
{
	u32 span;
	int err = kstrtou32(text, 0, &span);

	if (err)
		return err;
	if (!is_power_of_2(span) || span >> 1 < BIT(isn.low)) {
		pr_err("run2c_isn: span must be a power of two, more than 2^low\n");
		return -EINVAL;
	}
	isn.span = span;
	isn_set_mask();
	return 0;
}

static int isn_set_low(const char *text, const struct kernel_param *kp)
{
	u32 low;
	int err = kstrtou32(text, 0, &low);

	if (err)
		return err;
	if (low > 30 || isn.span >> 1 < BIT(low)) {
		pr_err("run2c_isn: low must be so many bits that 2^low is less than span\n");
		return -EINVAL;
	}
	isn.low = low;
	isn_set_mask();
	return 0;
}

static int isn_set_enabled(const char *text, const struct kernel_param *kp)
{
	int err = param_set_bool(text, kp);

	isn_set_mask();
	return err;
}

/* Connections whose number was left as it was, since too many came at once */
static int isn_get_missed(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", isn_probe[0].nmissed + isn_probe[1].nmissed);
}

static const struct kernel_param_ops isn_span_ops = {
	.set = isn_set_span,
	.get = param_get_uint,
};

static const struct kernel_param_ops isn_low_ops = {
	.set = isn_set_low,
	.get = param_get_uint,
};

static const struct kernel_param_ops isn_enabled_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = isn_set_enabled,
	.get = param_get_bool,
};

static const struct kernel_param_ops isn_missed_ops = {
	.get = isn_get_missed,
};

module_param_cb(span, &isn_span_ops, &isn.span, 0644);
MODULE_PARM_DESC(span, "distance of the numbers to begin with, bytes, a power of two");
module_param_cb(low, &isn_low_ops, &isn.low, 0644);
MODULE_PARM_DESC(low, "low bits that stay random");
module_param_cb(enabled, &isn_enabled_ops, &isn.enabled, 0644);
MODULE_PARM_DESC(enabled, "0: leave the numbers of new connections as they are");
module_param_cb(missed, &isn_missed_ops, NULL, 0444);
MODULE_PARM_DESC(missed, "connections whose number was left as it was for want of memory");

static int __init isn_init(void)
{
	int err;
	u32 i;

	/* Where the result is not one register, it is not what the handler takes it for. */
	if (!IS_ENABLED(CONFIG_64BIT))
		return -EOPNOTSUPP;
	isn_set_mask();
	for (i = 0; i < ARRAY_SIZE(isn_probe); i++)
		isn_probe[i].maxactive = 8 * num_possible_cpus();
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
