// SPDX-License-Identifier: GPL-2.0
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <netlink/netlink.h>
#include <netlink/msg.h>

#include "kernel.h"

#define ANSWER_MAX	(64 << 10)	/* the kernel fills half of it at most */

static struct nl_sock *sock;

struct taker {
	void (*take)(struct nlmsghdr *n, void *to);
	void *to;
};

static int take_message(struct nl_msg *msg, void *arg)
{
	struct taker *taker = arg;

	taker->take(nlmsg_hdr(msg), taker->to);
	return NL_OK;
}

/* What changes while it is told is told again soon. */
static int take_interrupted(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

static int kernel_open(void)
{
	int err;

	if (sock)
		return 0;
	sock = nl_socket_alloc();
	if (!sock)
		return -NLE_NOMEM;
	err = nl_connect(sock, NETLINK_ROUTE);
	if (!err)
		err = nl_socket_set_msg_buf_size(sock, ANSWER_MAX);
	nl_socket_disable_msg_peek(sock);
	nl_socket_modify_cb(sock, NL_CB_DUMP_INTR, NL_CB_CUSTOM, take_interrupted, NULL);
	return err;
}

/* The statistics of links take time, and nobody reads them. */
static int send_links(void)
{
	struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETLINK, NLM_F_DUMP);
	int err = -NLE_NOMEM;

	if (!msg)
		return err;
	if (!nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO) &&
	    !nla_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS))
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	return err;
}

const char *kernel_ask(int type, int ifindex, void (*take)(struct nlmsghdr *n, void *to), void *to)
{
	struct tcmsg head = { .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex };
	struct taker taker = { take, to };
	int err = kernel_open();

	if (!err)
		err = nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, take_message, &taker);
	if (!err)
		err = type == RTM_GETLINK ?
			send_links() : nl_send_simple(sock, type, NLM_F_DUMP, &head, sizeof(head));
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err >= 0)
		return NULL;
	kernel_close();	/* the rest of an answer could be left in it */
	return nl_geterror(err);
}

bool kernel_lists_flows(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {};

	syscall(SYS_capget, &head, caps);
	return caps[CAP_TO_INDEX(CAP_NET_ADMIN)].effective & CAP_TO_MASK(CAP_NET_ADMIN);
}

__u64 kernel_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void kernel_close(void)
{
	nl_socket_free(sock);
	sock = NULL;
}
