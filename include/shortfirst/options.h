/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of a kind: attributes of 32 or 64 bits on the wire, u64 values in an array by
 * attribute, and a table that tells of each its default and what is good. SF_KIND,
 * which a kind defines before it includes this, is its name.
 */
#ifndef _SF_OPTIONS_H
#define _SF_OPTIONS_H

#include <linux/log2.h>
#include <linux/stringify.h>
#include <net/netlink.h>
#include "pkt_shaper.h"

/*
 * The range is told to those who have sent what is not good and ask for extended
 * acknowledgments (NLMSGERR_ATTR_POLICY); powers of two and gaps only in words.
 */
struct sf_option {
	u16	attr;
	u64	value;		/* by default; sign-extended if the attribute is signed */
	struct nla_policy policy;	/* the type and the range, both ends are good */
	u32	least;		/* what is less is not good, but for 0 */
	bool	power;		/* powers of two only */
	const char *refusal;	/* what to say of a value that is not good */
	const char *fixed;	/* what to say of a change, if it cannot be changed */
};

/* A row of @KIND's table */
#define SF_OPTION(KIND, ATTRIBUTE, by_default)				\
	.attr = TCA_ ## KIND ## _ ## ATTRIBUTE, .value = by_default

#define SF_POLICY(low, most)						\
	.policy = NLA_POLICY_FULL_RANGE(NLA_U32,			\
		&((struct netlink_range_validation) { low, most }))

/* What it may be. A bound that is said has to be plain digits; it need not be a long. */
#define SF_SAID(low, most)						\
	SF_POLICY(__PASTE(low, ULL), __PASTE(most, ULL))

#define SF_RANGE(name, least, most, unit)				\
	SF_SAID(least, most),						\
	.refusal = SF_KIND ": " name " must be " __stringify(least)	\
		   " to " __stringify(most) unit

#define SF_ZERO_OR(name, low, most, unit)				\
	SF_SAID(0, most), .least = low,					\
	.refusal = SF_KIND ": " name " must be 0 or " __stringify(low)	\
		   " to " __stringify(most) unit

#define SF_POWER(name, least, most)					\
	SF_SAID(least, most), .power = true,				\
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

/* The rows of those that every kind has */
#define SF_LIMIT(KIND, packets)						\
	{								\
		SF_OPTION(KIND, LIMIT, packets),			\
		SF_RANGE("limit", TC_ ## KIND ## _LIMIT_MIN,		\
			 TC_ ## KIND ## _LIMIT_MAX, " packets")		\
	}

#define SF_MEMORY_LIMIT(KIND)						\
	{								\
		SF_OPTION(KIND, MEMORY_LIMIT, 32 << 20),		\
		SF_RANGE("memory_limit", TC_ ## KIND ## _MEMORY_MIN,	\
			 TC_ ## KIND ## _MEMORY_MAX, " bytes")		\
	}

#define SF_FLOWS(KIND)							\
	{								\
		SF_OPTION(KIND, FLOWS, 4096),				\
		SF_POWER("flows", TC_ ## KIND ## _FLOWS_MIN,		\
			 TC_ ## KIND ## _FLOWS_MAX),			\
		SF_FIXED("flows")					\
	}

#define SF_SPLIT_GSO(KIND)						\
	{								\
		SF_OPTION(KIND, SPLIT_GSO, TC_SF_SPLIT_AUTO),		\
		SF_OTHER(0, TC_SF_SPLIT_MAX,				\
			 "split_gso must be 0 (off), 1 (on) or 2 (auto)") \
	}

/* The rows of those that several have */
/* Defaults of las and sqf, but for `plain` */
#define SF_POLICY_BUFFER	500	/* ms */
#define SF_POLICY_TARGET	5000	/* us */

#define SF_BUFFER(KIND, ms)						\
	{								\
		SF_OPTION(KIND, BUFFER, ms),				\
		SF_ZERO_OR("buffer", TC_ ## KIND ## _BUFFER_MIN,	\
			   TC_ ## KIND ## _BUFFER_MAX, " ms")		\
	}

#define SF_QUANTUM(KIND)						\
	{								\
		SF_OPTION(KIND, QUANTUM, 1514),				\
		SF_RANGE("quantum", TC_ ## KIND ## _QUANTUM_MIN,	\
			 TC_ ## KIND ## _QUANTUM_MAX, " bytes")		\
	}

#define SF_TARGET(KIND)							\
	{								\
		SF_OPTION(KIND, TARGET, SF_POLICY_TARGET),		\
		SF_RANGE("target", 0, TC_ ## KIND ## _TARGET_MAX, " us") \
	}

#define SF_PLAIN(KIND)							\
	{								\
		SF_OPTION(KIND, PLAIN, 0),				\
		SF_SWITCH("plain")					\
	}

#define SF_ECN(KIND)							\
	{								\
		SF_OPTION(KIND, ECN, 1),				\
		SF_SWITCH("ecn")					\
	}

#define SF_HOSTS(KIND)							\
	{								\
		SF_OPTION(KIND, HOSTS, 0),				\
		SF_OTHER(0, TC_ ## KIND ## _HOSTS_MAX,			\
			 "hosts must be 0 (none), 1 (src), 2 (dst) or 3 (both)") \
	}

#define SF_NAT(KIND)							\
	{								\
		SF_OPTION(KIND, NAT, 0),				\
		SF_SWITCH("nat")					\
	}

/* Of those with flow_recent.h */
#define SF_LINGER(KIND)							\
	{								\
		SF_OPTION(KIND, LINGER, 1000),				\
		SF_RANGE("linger", 0, TC_ ## KIND ## _LINGER_MAX, " ms") \
	}

/*
 * sf_number(opt, last, number, constant) - a number that is a constant for users
 *
 * In a build for tests @opt may have another value; @last is the last attribute of the qdisc.
 */
#ifdef SF_TEST
#include "test_numbers.h"

#define SF_TEST_VALUES	SF_NUMBERS

static inline u32 sf_number(const u64 *opt, u16 last, enum sf_number number, u32 constant)
{
	u64 value = opt[last + 1 + number];

	return value == SF_NUMBER_UNSET ? constant : value;
}
#else
#define SF_TEST_VALUES	0
#define sf_number(opt, last, number, constant) (constant)
#endif

/* The values of all options, by attribute, from 0 on */
#define SF_OPTION_VALUES(KIND)	(TCA_ ## KIND ## _MAX + 1 + SF_TEST_VALUES)

/* The options of a kind, see SF_OPTIONS() */
struct sf_options {
	const struct sf_option *rows;
	size_t	count;
	int	max;		/* the last attribute */
	int	pad;		/* the attribute that aligns those of 64 bits */
	const struct nla_policy *policy;
};

/* Those of @KIND, of which kind_rows[] tells. PAD, RATE and OVERHEAD follow each other. */
#define SF_OPTIONS(KIND, kind)						\
	{								\
		.rows = kind ## _rows,					\
		.count = ARRAY_SIZE(kind ## _rows),			\
		.max = TCA_ ## KIND ## _MAX + SF_TEST_VALUES,		\
		.pad = TCA_ ## KIND ## _PAD,				\
		.policy = (const struct nla_policy[]) {			\
			[1 ... TCA_ ## KIND ## _PAD - 1] = { .type = NLA_U32 }, \
			[TCA_ ## KIND ## _RATE] = { .type = NLA_U64 },	\
			[TCA_ ## KIND ## _OVERHEAD] = { .type = NLA_S32 }, \
			[TCA_ ## KIND ## _OVERHEAD + 1 ...		\
			 TCA_ ## KIND ## _MAX + SF_TEST_VALUES] = { .type = NLA_U32 } \
		}							\
	}

static inline bool sf_option_good(const struct sf_option *o, u64 val)
{
	const struct netlink_range_validation *range = o->policy.range;
	const struct netlink_range_validation_signed *own = o->policy.range_signed;

	if (o->policy.type == NLA_S32)
		return (s64)val >= own->min && (s64)val <= own->max;
	return val >= range->min && val <= range->max && (!val || val >= o->least) &&
	       (!o->power || is_power_of_2(val));
}

static inline u64 sf_option_get(const struct sf_option *o, const struct nlattr *attr)
{
	if (o->policy.type == NLA_U64)
		return nla_get_u64(attr);
	return o->policy.type == NLA_S32 ? (s64)nla_get_s32(attr) : nla_get_u32(attr);
}

/**
 * sf_options_parse - what a qdisc's options are to be
 * @options: those there are
 * @nla: the request, may be NULL
 * @tb: where its attributes go
 * @live: those of the qdisc, for what the request leaves out; NULL: it is new, the
 *	  defaults are
 * @opt: where all go, by attribute
 * @extack: for what is said of a bad value
 *
 * Return: 0, -EINVAL for a bad value or attribute, or -EOPNOTSUPP for a value that cannot
 * be changed; then nothing is to be done with @opt.
 */
static inline int sf_options_parse(const struct sf_options *options, struct nlattr *nla,
				   struct nlattr **tb, const u64 *live, u64 *opt,
				   struct netlink_ext_ack *extack)
{
	const struct sf_option *o;
	const char *refusal;
	int err;
	u64 val;

	memset(tb, 0, (options->max + 1) * sizeof(*tb));
	err = nla ? nla_parse_nested(tb, options->max, nla, options->policy, extack) : 0;
	if (err)
		return err;
	for (o = options->rows; o < options->rows + options->count; o++) {
		opt[o->attr] = live ? live[o->attr] : o->value;
		if (!tb[o->attr])
			continue;
		val = sf_option_get(o, tb[o->attr]);
		refusal = NULL;
		if (!sf_option_good(o, val))
			refusal = o->refusal;
		else if (live && o->fixed && val != live[o->attr])
			refusal = o->fixed;
		if (refusal) {
			NL_SET_BAD_ATTR_POLICY(extack, tb[o->attr],
					       refusal == o->fixed ? NULL : &o->policy);
			/* NL_SET_ERR_MSG() is for literals only */
			if (extack)
				extack->_msg = refusal;
			return refusal == o->fixed ? -EOPNOTSUPP : -EINVAL;
		}
		opt[o->attr] = val;
	}
	return 0;
}

/* sf_options_differ - is one of these another, beside those @from and @to that attribute? */
static inline bool sf_options_differ(const struct sf_options *options, const u64 *live,
				     const u64 *opt, u16 from, u16 to)
{
	const struct sf_option *o;

	for (o = options->rows; o < options->rows + options->count; o++)
		if (live[o->attr] != opt[o->attr] && (o->attr < from || o->attr > to))
			return true;
	return false;
}

/* sf_options_apply - let @live, which a dump reads without the lock, be as @opt */
static inline void sf_options_apply(const struct sf_options *options, u64 *live,
				    const u64 *opt)
{
	const struct sf_option *o;

	for (o = options->rows; o < options->rows + options->count; o++)
		WRITE_ONCE(live[o->attr], opt[o->attr]);
}

static inline int sf_option_put(const struct sf_options *options, const struct sf_option *o,
				u64 val, struct sk_buff *skb)
{
#ifdef SF_TEST
	if (o->value == SF_NUMBER_UNSET && val == SF_NUMBER_UNSET)
		return 0;
#endif
	if (o->policy.type == NLA_U64)
		return nla_put_u64_64bit(skb, o->attr, val, options->pad);
	return nla_put_u32(skb, o->attr, val);
}

/**
 * sf_options_dump - put all options into a message, nested in TCA_OPTIONS
 *
 * Who changes them holds RTNL, as a dump does: a u64 is whole.
 *
 * Return: what the dump of a qdisc is to return.
 */
static inline int sf_options_dump(const struct sf_options *options, const u64 *live,
				  struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);
	const struct sf_option *o;

	if (!nest)
		return -EMSGSIZE;
	for (o = options->rows; o < options->rows + options->count; o++) {
		if (sf_option_put(options, o, READ_ONCE(live[o->attr]), skb)) {
			nla_nest_cancel(skb, nest);
			return -EMSGSIZE;
		}
	}
	return nla_nest_end(skb, nest);
}

#endif
