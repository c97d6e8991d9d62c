/* SPDX-License-Identifier: GPL-2.0 */
static int las_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	return tc_parse_opts(qu->id, las_opts, argc, argv, n);
}

static int las_print_opt_nest(const struct qdisc_util *qu, FILE *f,
			      struct rtattr *opt)
{
	return tc_print_opts(las_opts, opt);
}

static int las_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	return tc_print_stats(las_stats, xstats);
}

static int las_print_copt(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt)
{
	return tc_print_class(opt);
}

struct qdisc_util las_qdisc_util = {
	.id		= "las",
	.parse_qopt	= las_parse_opt,
	.print_qopt	= las_print_opt_nest,
	.print_xstats	= las_print_xstats,
	.print_copt	= las_print_copt,
};
