/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of a kind: u32 attributes on the wire, u32 fields in a structure of
 * its own, and a table that tells which is which and what is good. SF_KIND, which a
 * kind defines before it includes this, is its name.
 */
#ifndef _SF_OPTIONS_H
#define _SF_OPTIONS_H

#include <linux/log2.h>
#include <linux/stringify.h>
#include <net/netlink.h>

/*
 * The range is told to those who have sent what is not good and ask for extended
 * acknowledgments (NLMSGERR_ATTR_POLICY); powers of two and gaps only in words.
 */
struct sf_option {
	u16	attr;
	u16	field;		/* its offset in the structure */
	struct nla_policy policy;	/* the range, both ends are good */
	u32	least;		/* what is less is not good, but for 0 */
	bool	power;		/* powers of two only */
	const char *refusal;	/* what to say of a value that is not good */
	const char *fixed;	/* what to say of a change, if it cannot be changed */
};

/* A row of @kind's table: struct @kind_options has the field */
#define SF_OPTION(KIND, kind, ATTRIBUTE, member)			\
	.attr = TCA_ ## KIND ## _ ## ATTRIBUTE,				\
	.field = offsetof(struct kind ## _options, member)

#define SF_POLICY(low, most)						\
	.policy = NLA_POLICY_FULL_RANGE(NLA_U32,			\
		&((struct netlink_range_validation) { low, most }))

/* What it may be */
#define SF_RANGE(name, least, most, unit)				\
	SF_POLICY(least, most),						\
	.refusal = SF_KIND ": " name " must be " __stringify(least)	\
		   " to " __stringify(most) unit

#define SF_ZERO_OR(name, low, most, unit)				\
	SF_POLICY(0, most), .least = low,				\
	.refusal = SF_KIND ": " name " must be 0 or " __stringify(low)	\
		   " to " __stringify(most) unit

#define SF_POWER(name, least, most)					\
	SF_POLICY(least, most), .power = true,				\
	.refusal = SF_KIND ": " name " must be a power of two, "	\
		   __stringify(least) " to " __stringify(most)

#define SF_SWITCH(name)							\
	SF_POLICY(0, 1), .refusal = SF_KIND ": " name " must be 0 or 1"

/* What is not said by its range alone */
#define SF_OTHER(least, most, text)					\
	SF_POLICY(least, most), .refusal = SF_KIND ": " text

#define SF_FIXED(name)							\
	.fixed = SF_KIND ": " name					\
		 " is fixed once the qdisc exists: delete it and add it anew"

/* Those of every kind: struct @kind_options begins with them. */
struct sf_options {
	u32	limit;		/* packets */
	u32	memory_limit;	/* bytes */
	u32	flows;
	u32	idle;		/* ms */
	u32	split_gso;
};

#define SF_OPTIONS_DEFAULT(packets)					\
	{								\
		.limit = packets, .memory_limit = 32 << 20,		\
		.flows = 4096, .idle = 60000, .split_gso = 1		\
	}

/* Their rows */
#define SF_LIMIT(KIND, kind)						\
	{								\
		SF_OPTION(KIND, kind, LIMIT, all.limit),		\
		SF_RANGE("limit", TC_ ## KIND ## _LIMIT_MIN,		\
			 TC_ ## KIND ## _LIMIT_MAX, " packets")		\
	}

#define SF_MEMORY_LIMIT(KIND, kind)					\
	{								\
		SF_OPTION(KIND, kind, MEMORY_LIMIT, all.memory_limit),	\
		SF_RANGE("memory_limit", TC_ ## KIND ## _MEMORY_MIN,	\
			 TC_ ## KIND ## _MEMORY_MAX, " bytes")		\
	}

#define SF_FLOWS(KIND, kind)						\
	{								\
		SF_OPTION(KIND, kind, FLOWS, all.flows),		\
		SF_POWER("flows", TC_ ## KIND ## _FLOWS_MIN,		\
			 TC_ ## KIND ## _FLOWS_MAX),			\
		SF_FIXED("flows")					\
	}

#define SF_IDLE(KIND, kind)						\
	{								\
		SF_OPTION(KIND, kind, IDLE, all.idle),			\
		SF_RANGE("idle", TC_ ## KIND ## _IDLE_MIN,		\
			 TC_ ## KIND ## _IDLE_MAX, " ms")		\
	}

#define SF_SPLIT_GSO(KIND, kind)					\
	{								\
		SF_OPTION(KIND, kind, SPLIT_GSO, all.split_gso),	\
		SF_SWITCH("split_gso")					\
	}

static inline u32 *sf_option_field(void *options, const struct sf_option *o)
{
	return options + o->field;
}

static inline bool sf_option_good(const struct sf_option *o, u32 val)
{
	const struct netlink_range_validation *range = o->policy.range;

	return val >= range->min && val <= range->max && (!val || val >= o->least) &&
	       (!o->power || is_power_of_2(val));
}

/**
 * sf_options_parse - check all that a request has, and take it over
 * @table: the options there are
 * @count: how many
 * @tb: the attributes of the request
 * @options: the structure; it holds what is to be kept of options left out
 * @exists: they are a qdisc's already
 * @extack: for what is said of a bad value
 *
 * Return: 0, -EINVAL for a bad value, or -EOPNOTSUPP for one that cannot be changed;
 * then @options may have changed, so let it be a copy.
 */
static inline int sf_options_parse(const struct sf_option *table, size_t count,
				   struct nlattr **tb, void *options, bool exists,
				   struct netlink_ext_ack *extack)
{
	const struct sf_option *o;
	const char *refusal;
	u32 val;

	for (o = table; o < table + count; o++) {
		if (!tb[o->attr])
			continue;
		val = nla_get_u32(tb[o->attr]);
		refusal = NULL;
		if (!sf_option_good(o, val))
			refusal = o->refusal;
		else if (exists && o->fixed && val != *sf_option_field(options, o))
			refusal = o->fixed;
		if (refusal) {
			NL_SET_BAD_ATTR_POLICY(extack, tb[o->attr],
					       refusal == o->fixed ? NULL : &o->policy);
			/* NL_SET_ERR_MSG() is for literals only */
			if (extack)
				extack->_msg = refusal;
			return refusal == o->fixed ? -EOPNOTSUPP : -EINVAL;
		}
		*sf_option_field(options, o) = val;
	}
	return 0;
}

/* sf_options_apply - let @live, which a dump reads without lock, be as @options */
static inline void sf_options_apply(const struct sf_option *table, size_t count,
				    void *live, void *options)
{
	const struct sf_option *o;

	for (o = table; o < table + count; o++)
		WRITE_ONCE(*sf_option_field(live, o),
			   *sf_option_field(options, o));
}

/**
 * sf_options_dump - put all options into a message, nested in TCA_OPTIONS
 *
 * Return: what the dump of a qdisc is to return.
 */
static inline int sf_options_dump(const struct sf_option *table, size_t count,
				  void *live, struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);
	const struct sf_option *o;

	if (!nest)
		return -EMSGSIZE;
	for (o = table; o < table + count; o++) {
		if (nla_put_u32(skb, o->attr,
				READ_ONCE(*sf_option_field(live, o)))) {
			nla_nest_cancel(skb, nest);
			return -EMSGSIZE;
		}
	}
	return nla_nest_end(skb, nest);
}

#endif
