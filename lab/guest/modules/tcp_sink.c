// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_sink - throw away what TCP receives, and wake nobody for it
 *
 * A receiver of the lab's reads only to throw away. In user-mode Linux its two calls for a
 * packet take ten times as long as all else that is done for this packet.
 *
 * Whoever writes "FD BYTES" to /sys/kernel/debug/tcp_sink has that many bytes, from now on,
 * read here as soon as they come, as users of TCP inside the kernel read theirs: window and
 * acknowledgments are those of a program that always reads at once. What comes after is for
 * the program, which is woken then; and in any case by an end or an error.
 *
 * The bytes that are left are in sk_user_data, which nobody else uses in a socket of a
 * program's, and not in its lowest bits, which are flags. Sockets call what is here for as long
 * as they live, so the module stays.
 */

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/sock.h>
#include <net/tcp.h>

#define SINK_SHIFT	3

/* What every TCP socket of a program has */
static void (*sink_wake)(struct sock *sk);

static int sink_take(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
		     size_t len)
{
	size_t taken = min(desc->count, len);

	desc->count -= taken;
	return taken;
}

/* The socket is locked. */
static void sink_data_ready(struct sock *sk)
{
	read_descriptor_t desc = { .count = (unsigned long)sk->sk_user_data >> SINK_SHIFT };

	tcp_read_sock(sk, &desc, sink_take);
	sk->sk_user_data = (void *)(desc.count << SINK_SHIFT);
	if (desc.count)
		return;
	WRITE_ONCE(sk->sk_data_ready, sink_wake);
	if (!skb_queue_empty(&sk->sk_receive_queue))
		sink_wake(sk);
}

static int sink_attach(struct sock *sk, unsigned long bytes)
{
	int err = 0;

	lock_sock(sk);
	if (sk->sk_protocol != IPPROTO_TCP || sk->sk_state == TCP_LISTEN || sk->sk_user_data) {
		err = -EINVAL;
	} else {
		sink_wake = sk->sk_data_ready;
		sk->sk_user_data = (void *)(bytes << SINK_SHIFT);
		WRITE_ONCE(sk->sk_data_ready, sink_data_ready);
		if (!skb_queue_empty(&sk->sk_receive_queue))
			sink_data_ready(sk);
	}
	release_sock(sk);
	return err;
}

static ssize_t sink_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	unsigned long bytes;
	char line[40] = {};
	struct socket *sock;
	int fd, err;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	if (sscanf(line, "%d %lu", &fd, &bytes) != 2 || !bytes ||
	    bytes > ULONG_MAX >> SINK_SHIFT)
		return -EINVAL;
	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return err;
	err = sink_attach(sock->sk, bytes);
	sockfd_put(sock);
	return err ?: size;
}

static const struct file_operations sink_fops = {
	.owner	= THIS_MODULE,
	.open	= nonseekable_open,
	.write	= sink_write,
};

static int __init sink_init(void)
{
	debugfs_create_file("tcp_sink", 0200, NULL, NULL, &sink_fops);
	return 0;
}

module_init(sink_init);
MODULE_DESCRIPTION("The lab's reader of TCP");
MODULE_LICENSE("GPL");
