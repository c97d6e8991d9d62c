/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of a kind: u32 attributes on the wire, u32 fields in a structure of
 * its own, and a table that tells which is which and what is good.
 */
#ifndef _SF_OPTIONS_H
#define _SF_OPTIONS_H

#include <linux/log2.h>
#include <linux/stringify.h>
#include <net/netlink.h>

struct sf_option {
	u16	attr;
	u16	field;		/* its offset in the structure */
	u32	min;		/* both ends are good */
	u32	max;
	bool	zero;		/* 0 is good too */
	bool	power;		/* powers of two only */
	const char *refusal;	/* what to say of a value that is not good */
	const char *fixed;	/* what to say of a change, if it cannot be changed */
};

/* A row of @kind's table: struct @kind_options has the field */
#define SF_OPTION(KIND, kind, ATTRIBUTE, member)			\
	.attr = TCA_ ## KIND ## _ ## ATTRIBUTE,				\
	.field = offsetof(struct kind ## _options, member)

/* What it may be; @what tells whose, as in "las: limit must be " */
#define SF_RANGE(what, least, most, unit)				\
	.min = least, .max = most,					\
	.refusal = what __stringify(least) " to " __stringify(most) unit

#define SF_POWER(what, least, most)					\
	.power = true, .min = least, .max = most,			\
	.refusal = what " must be a power of two, " __stringify(least) " to " \
		   __stringify(most)

#define SF_FIXED(what)							\
	.fixed = what " is fixed once the qdisc exists: delete it and add it anew"

#define SF_SWITCH(what)							\
	.max = 1, .refusal = what " must be 0 or 1"

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

static inline u32 *sf_option_field(void *options, const struct sf_option *o)
{
	return options + o->field;
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
		if (!(o->zero && !val) &&
		    (val < o->min || val > o->max ||
		     (o->power && !is_power_of_2(val))))
			refusal = o->refusal;
		else if (exists && o->fixed && val != *sf_option_field(options, o))
			refusal = o->fixed;
		if (refusal) {
			NL_SET_BAD_ATTR(extack, tb[o->attr]);
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
