// SPDX-License-Identifier: GPL-2.0
/*
 * sift_watch - which flows has sift sampled?
 *
 * Sees, by a kprobe, sch_sift's sf_recent_assign() give flows their records. It has to be loaded.
 * /sys/kernel/debug/sift_watch has a line for each time, in order: the port of the
 * sender and that of the receiver.
 */

#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include "sched.h"

#define WATCH_MAX	BIT(18)

static __be32 *watched;
static u32 watched_count;
static struct dentry *watch_file;

static int watch_record(struct kprobe *probe, struct pt_regs *regs)
{
	const struct sf_sched *s = (void *)regs_get_kernel_argument(regs, 0);

	if (watched_count < WATCH_MAX)
		watched[watched_count] = s->key.ports;
	watched_count++;
	return 0;
}

static struct kprobe watch_probe = {
	.symbol_name	= "sch_sift:sf_recent_assign",
	.pre_handler	= watch_record,
};

static int watch_show(struct seq_file *file, void *unused)
{
	u32 i, ports;

	if (watched_count > WATCH_MAX)
		return -E2BIG;
	for (i = 0; i < watched_count; i++) {
		ports = ntohl(watched[i]);
		seq_printf(file, "%u %u\n", ports >> 16, ports & 0xffff);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(watch);

static int __init watch_init(void)
{
	int err;

	watched = vzalloc(array_size(WATCH_MAX, sizeof(*watched)));
	if (!watched)
		return -ENOMEM;
	err = register_kprobe(&watch_probe);
	if (err) {
		vfree(watched);
		return err;
	}
	watch_file = debugfs_create_file("sift_watch", 0400, NULL, NULL, &watch_fops);
	return 0;
}

static void __exit watch_exit(void)
{
	debugfs_remove(watch_file);
	unregister_kprobe(&watch_probe);
	vfree(watched);
}

module_init(watch_init);
module_exit(watch_exit);
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Tells which flows sift has sampled");
MODULE_LICENSE("GPL");
