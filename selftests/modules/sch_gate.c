// SPDX-License-Identifier: GPL-2.0
/*
 * sch_gate - a root qdisc for tests that holds everything until told
 *
 *	gate 1: --- class 1:1 --- the qdisc under test
 *
 * It is as strict a parent as the kernel allows. It counts its own qlen and
 * backlog by the contract alone: what the child's enqueue returns and what
 * qdisc_tree_reduce_backlog() takes back. It also keeps its class active as drr
 * and qfq do: from an enqueue that returns success until qlen_notify or until a
 * dequeue empties the child. After each operation all of that must agree with
 * the child. If it does not, the mismatch is counted and warned of.
 *
 * One file for each device, /sys/kernel/debug/sch_gate/DEVICE. Reading it tells
 * the counters as KEY=VALUE, one per line. These words may be written to it:
 *
 *	release N	let N packets out, fewer if the child has fewer
 *	release all
 *	park N		move N packets of the child to its gso_skb: the first as
 *			a parent's peek does, more as dev_requeue_skb() does to
 *			a root qdisc whose device is busy
 *	mode direct	take packets by dequeue, unless one is parked
 *	mode peeked	peek before each qdisc_dequeue_peeked()
 */

#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <shortfirst/compat.h>

struct gate_sched {
	struct Qdisc	*child;
	struct dentry	*file;
	u32		credit;		/* packets that may still go out */
	bool		releasing;	/* until one has been asked for in vain */
	bool		peeked;		/* mode */
	bool		active;		/* would the class be served? */

	u32		last_ret;	/* of the last enqueue */
	u32		last_truesize;
	u32		success;	/* enqueues by what the child returned */
	u32		cn;
	u32		drop;
	u32		notified;	/* calls of qlen_notify */
	u32		mismatches;
};

static struct dentry *gate_dir;

static void gate_mismatch(struct Qdisc *sch, const char *what)
{
	struct gate_sched *q = qdisc_priv(sch);
	const struct Qdisc *child = q->child;

	q->mismatches++;
	WARN_ONCE(1, "sch_gate: %s: qlen %u backlog %u active %d, child's qlen %u backlog %u\n",
		  what, sch->q.qlen, sch->qstats.backlog, q->active,
		  child->q.qlen, child->qstats.backlog);
}

static void gate_check(struct Qdisc *sch, const char *when)
{
	struct gate_sched *q = qdisc_priv(sch);
	const struct Qdisc *child = q->child;

	if (sch->q.qlen != child->q.qlen ||
	    sch->qstats.backlog != child->qstats.backlog ||
	    !child->q.qlen != !child->qstats.backlog ||
	    q->active != !!child->q.qlen)
		gate_mismatch(sch, when);
}

static int gate_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct gate_sched *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret;

	q->last_truesize = skb->truesize;
	ret = qdisc_enqueue(skb, q->child, to_free);
	q->last_ret = ret;
	if (ret == NET_XMIT_SUCCESS) {
		q->success++;
		q->active = true;
		sch->q.qlen++;
		sch->qstats.backlog += len;
	} else if (net_xmit_drop_count(ret)) {
		if (ret == NET_XMIT_CN)
			q->cn++;
		else
			q->drop++;
		qdisc_qstats_drop(sch);
	}
	gate_check(sch, "enqueue");
	return ret;
}

static struct sk_buff *gate_take(struct Qdisc *sch)
{
	struct gate_sched *q = qdisc_priv(sch);
	struct Qdisc *child = q->child;
	struct sk_buff *peeked, *skb;

	if (!q->peeked && skb_queue_empty(&child->gso_skb))
		return child->dequeue(child);

	if (!q->peeked)
		return qdisc_dequeue_peeked(child);

	peeked = child->ops->peek(child);
	gate_check(sch, "peek");
	skb = qdisc_dequeue_peeked(child);
	if (skb != peeked)
		gate_mismatch(sch, "dequeue gave another packet than peek");
	return skb;
}

static struct sk_buff *gate_dequeue(struct Qdisc *sch)
{
	struct gate_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	/* The device has all that it got: the next is asked for when the last has been sent. */
	if (!q->credit) {
		q->releasing = false;
		return NULL;
	}

	skb = gate_take(sch);
	if (skb) {
		q->credit--;
		qdisc_bstats_update(sch, skb);
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
	} else {
		q->credit = 0;
		q->releasing = false;
		if (q->child->q.qlen)
			gate_mismatch(sch, "no packet from a child that has some");
	}
	if (!q->child->q.qlen)
		q->active = false;
	gate_check(sch, "dequeue");
	return skb;
}

static struct sk_buff *gate_peek(struct Qdisc *sch)
{
	struct gate_sched *q = qdisc_priv(sch);

	return q->credit ? q->child->ops->peek(q->child) : NULL;
}

static void gate_park(struct Qdisc *sch, u32 n)
{
	struct gate_sched *q = qdisc_priv(sch);
	struct Qdisc *child = q->child;
	struct sk_buff *skb;

	if (n && skb_queue_empty(&child->gso_skb)) {
		child->ops->peek(child);
		n--;
	}
	while (n-- && (skb = child->dequeue(child))) {
		__skb_queue_tail(&child->gso_skb, skb);
		qdisc_qstats_backlog_inc(child, skb);
		child->q.qlen++;
	}
	gate_check(sch, "park");
}

static int gate_show(struct seq_file *s, void *unused)
{
	struct Qdisc *sch = s->private;
	struct gate_sched *q = qdisc_priv(sch);

	spin_lock_bh(qdisc_lock(sch));
	gate_check(sch, "change, graft or reset");
	seq_printf(s, "qlen=%u\nbacklog=%u\ndrops=%u\n", sch->q.qlen,
		   sch->qstats.backlog, sch->qstats.drops);
	seq_printf(s, "parked=%u\nreleasing=%u\n",
		   skb_queue_len(&q->child->gso_skb), q->releasing);
	seq_printf(s, "last_ret=%u\nlast_truesize=%u\n", q->last_ret,
		   q->last_truesize);
	seq_printf(s, "success=%u\ncn=%u\ndrop=%u\n", q->success, q->cn,
		   q->drop);
	seq_printf(s, "notified=%u\nmismatches=%u\n", q->notified,
		   q->mismatches);
	spin_unlock_bh(qdisc_lock(sch));
	return 0;
}

static int gate_open(struct inode *inode, struct file *file)
{
	return single_open(file, gate_show, inode->i_private);
}

static ssize_t gate_write(struct file *file, const char __user *buf,
			  size_t count, loff_t *ppos)
{
	struct Qdisc *sch = file_inode(file)->i_private;
	struct gate_sched *q = qdisc_priv(sch);
	char cmd[32];
	int err = 0;
	u32 n;

	if (count >= sizeof(cmd))
		return -EINVAL;
	if (copy_from_user(cmd, buf, count))
		return -EFAULT;
	cmd[count] = 0;
	strim(cmd);

	spin_lock_bh(qdisc_lock(sch));
	if (!strcmp(cmd, "release all")) {
		q->credit = U32_MAX;
		q->releasing = true;
		__netif_schedule(sch);
	} else if (sscanf(cmd, "release %u", &n) == 1) {
		q->credit = n;
		q->releasing = true;
		__netif_schedule(sch);
	} else if (sscanf(cmd, "park %u", &n) == 1) {
		gate_park(sch, n);
	} else if (!strcmp(cmd, "mode direct")) {
		q->peeked = false;
	} else if (!strcmp(cmd, "mode peeked")) {
		q->peeked = true;
	} else {
		err = -EINVAL;
	}
	spin_unlock_bh(qdisc_lock(sch));
	return err ?: count;
}

static const struct file_operations gate_fops = {
	.owner		=	THIS_MODULE,
	.open		=	gate_open,
	.read		=	seq_read,
	.write		=	gate_write,
	.llseek		=	seq_lseek,
	.release	=	single_release,
};

static void gate_reset(struct Qdisc *sch)
{
	struct gate_sched *q = qdisc_priv(sch);

	if (q->child)
		qdisc_reset(q->child);
	q->active = false;
	q->credit = 0;
	q->releasing = false;
}

static int gate_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	const struct Qdisc_ops *ops = get_default_qdisc_ops(qdisc_dev(sch), 0);
	struct gate_sched *q = qdisc_priv(sch);

	/* Of drops when packets leave the root is told why, if it can be. */
	sch->flags |= SF_DEQUEUE_DROPS;
	if (sch->parent != TC_H_ROOT) {
		NL_SET_ERR_MSG(extack, "gate: can only be the root qdisc");
		return -EOPNOTSUPP;
	}
	/* As mq, it begins with net.core.default_qdisc, unless its counts are not here */
	if (ops->static_flags & TCQ_F_NOLOCK)
		ops = &pfifo_qdisc_ops;
	q->child = qdisc_create_dflt(sch->dev_queue, ops,
				     TC_H_MAKE(sch->handle, 1), extack);
	if (!q->child)
		return -ENOMEM;
	qdisc_hash_add(q->child, true);

	q->file = debugfs_create_file(qdisc_dev(sch)->name, 0600, gate_dir,
				      sch, &gate_fops);
	if (IS_ERR(q->file)) {
		NL_SET_ERR_MSG(extack, "gate: there is one on a device of this name");
		return PTR_ERR(q->file);
	}
	return 0;
}

static void gate_destroy(struct Qdisc *sch)
{
	struct gate_sched *q = qdisc_priv(sch);

	debugfs_remove(q->file);	/* waits for readers and writers */
	qdisc_put(q->child);
}

static int gate_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
		      struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct gate_sched *q = qdisc_priv(sch);

	if (!new) {
		new = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops,
					TC_H_MAKE(sch->handle, 1), extack);
		if (!new)
			return -ENOMEM;
		qdisc_hash_add(new, true);
	}
	*old = qdisc_replace(sch, new, &q->child);
	return 0;
}

static struct Qdisc *gate_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct gate_sched *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long gate_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static void gate_qlen_notify(struct Qdisc *sch, unsigned long arg)
{
	struct gate_sched *q = qdisc_priv(sch);
	const struct Qdisc *child = q->child;

	q->notified++;
	if (child->q.qlen || child->qstats.backlog)
		gate_mismatch(sch, "qlen_notify for a child that has packets");
	q->active = false;
}

static void gate_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	if (arg->stop)
		return;
	if (arg->count >= arg->skip && arg->fn(sch, 1, arg) < 0) {
		arg->stop = 1;
		return;
	}
	arg->count++;
}

static int gate_dump_class(struct Qdisc *sch, unsigned long arg,
			   struct sk_buff *skb, struct tcmsg *tcm)
{
	struct gate_sched *q = qdisc_priv(sch);

	tcm->tcm_handle |= 1;
	tcm->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops gate_class_ops = {
	.graft		=	gate_graft,
	.leaf		=	gate_leaf,
	.find		=	gate_find,
	.qlen_notify	=	gate_qlen_notify,
	.walk		=	gate_walk,
	.dump		=	gate_dump_class,
};

static struct Qdisc_ops gate_qdisc_ops __read_mostly = {
	.id		=	"gate",
	.priv_size	=	sizeof(struct gate_sched),
	.cl_ops		=	&gate_class_ops,
	.enqueue	=	gate_enqueue,
	.dequeue	=	gate_dequeue,
	.peek		=	gate_peek,
	.init		=	gate_init,
	.reset		=	gate_reset,
	.destroy	=	gate_destroy,
	.owner		=	THIS_MODULE,
};

static int __init gate_module_init(void)
{
	int err;

	gate_dir = debugfs_create_dir("sch_gate", NULL);
	if (IS_ERR(gate_dir))
		return PTR_ERR(gate_dir);
	err = register_qdisc(&gate_qdisc_ops);
	if (err)
		debugfs_remove(gate_dir);
	return err;
}

static void __exit gate_module_exit(void)
{
	unregister_qdisc(&gate_qdisc_ops);
	debugfs_remove(gate_dir);
}

module_init(gate_module_init)
module_exit(gate_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Test qdisc that holds packets and checks its child");
MODULE_LICENSE("GPL");
