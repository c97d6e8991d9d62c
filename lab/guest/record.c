// SPDX-License-Identifier: GPL-2.0
/*
 * record: when each packet came to a bottleneck, and when it left.
 *
 *	record --netns NS --in DEV --out DEV --file FILE
 *
 * Runs until SIGTERM and then writes a line for each IP packet that came in on the first device,
 * in the order of arrival:
 *
 *	arrival, delay, flow, bytes
 *
 * Arrival is in microseconds since the first packet, delay in microseconds until the packet left
 * on the second device, -1 if it did not; flow numbers the 5-tuples, from 0, in the order in which
 * they were first seen; bytes have the Ethernet header. Fragments have no ports.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include "util.h"

#define SNAP		128		/* bytes that are looked at */
#define TABLE		0x400000	/* a power of two */
#define RECEIVE		(64 << 20)	/* bytes that a socket may hold */

enum { NETNS, IN, OUT, OUTFILE, OPTIONS };

struct packet {
	unsigned long long	key;		/* a hash of what the bottleneck does not change */
	long long	arrival;	/* ns */
	long long	delay;		/* ns; -1: has not left */
	unsigned int	flow;
	unsigned int	bytes;
	unsigned int	next;		/* of the same key, newer; 0: none */
};

static struct packet *packets;		/* the first one is not used */
static unsigned int used = 1, room;
static unsigned int first[TABLE];		/* by key: the oldest packet that has not left */
static unsigned long long flow_keys[TABLE];
static unsigned int flow_ids[TABLE], flows;
static const char *text[OPTIONS];

static unsigned long long hash(unsigned long long h, const void *data, size_t len)
{
	const unsigned char *byte = data;

	while (len--)
		h = (h ^ *byte++) * 0x100000001b3ULL;
	return h;
}

/* The keys of a packet and of its flow; false if it is no IP packet. */
static bool keys_of(const unsigned char *data, size_t len, unsigned long long *packet,
		    unsigned long long *flow)
{
	unsigned long long h = 0xcbf29ce484222325ULL;
	size_t head, ports = 4;
	unsigned char proto;

	if (len > ETH_HLEN + 20 && data[12] == 0x08 && data[13] == 0x00) {
		data += ETH_HLEN;
		len -= ETH_HLEN;
		head = (data[0] & 15) * 4;
		proto = data[9];
		if (data[6] & 0x3f || data[7])
			ports = 0;
		h = hash(h, data + 12, 8);
		*packet = hash(h, data + 2, 6);		/* length, identification, offset */
	} else if (len > ETH_HLEN + 40 && data[12] == 0x86 && data[13] == 0xdd) {
		data += ETH_HLEN;
		len -= ETH_HLEN;
		head = 40;
		proto = data[6];
		h = hash(h, data + 8, 32);
		*packet = hash(h, data + 4, 2);
	} else {
		return false;
	}
	if (head + ports > len)
		return false;
	h = hash(h, &proto, 1);
	*flow = hash(h, data + head, ports);
	*packet = hash(*packet, &proto, 1);
	*packet = hash(*packet, data + head, len - head);
	return true;
}

static unsigned int flow_id(unsigned long long key)
{
	unsigned int at = key & (TABLE - 1);

	while (flow_keys[at] && flow_keys[at] != key)
		at = (at + 1) & (TABLE - 1);
	if (!flow_keys[at]) {
		if (flows == TABLE / 2)
			errx(1, "more than %d flows", TABLE / 2);
		flow_keys[at] = key;
		flow_ids[at] = flows++;
	}
	return flow_ids[at];
}

/* Where the list of the packets of this key begins: at 0 of a free place */
static unsigned int *place_of(unsigned long long key)
{
	unsigned int at = (key >> 20) & (TABLE - 1);

	while (first[at] && packets[first[at]].key != key)
		at = (at + 1) & (TABLE - 1);
	return &first[at];
}

static void came(unsigned long long key, unsigned long long flow, long long now, unsigned int bytes)
{
	unsigned int *place;

	if (used >= room) {
		room = room ? 2 * room : 1 << 16;
		packets = realloc(packets, room * sizeof(*packets));
		if (!packets)
			err(1, "packets");
	}
	if (used == TABLE / 2)
		errx(1, "more than %d packets", TABLE / 2);
	packets[used] = (struct packet) {
		.key = key, .arrival = now, .delay = -1, .flow = flow_id(flow), .bytes = bytes,
	};
	for (place = place_of(key); *place; place = &packets[*place].next)
		;
	*place = used++;
}

/* Of equal packets the oldest has left that has not yet. */
static void left(unsigned long long key, long long now)
{
	unsigned int at;

	for (at = *place_of(key); at; at = packets[at].next) {
		if (packets[at].delay < 0) {
			packets[at].delay = now - packets[at].arrival;
			return;
		}
	}
}

static int open_socket(const char *name, bool outgoing)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int one = 1, size = RECEIVE, fd;

	to.sll_ifindex = if_nametoindex(name);
	if (!to.sll_ifindex)
		err(1, "%s", name);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)))
		err(1, "packets of %s", name);
	if (!outgoing && setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)))
		err(1, "packets of %s", name);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "packets of %s", name);
	return fd;
}

/* Note all that a socket has. Packets of the other direction do not count. */
static void drain(int fd, bool outgoing)
{
	unsigned char data[SNAP], control[128];
	struct sockaddr_ll from;
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = {
		.msg_name = &from, .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
	};
	unsigned long long packet, flow;
	struct cmsghdr *cmsg;
	struct timespec ts;
	bool leaves;
	ssize_t len;

	for (;;) {
		msg.msg_namelen = sizeof(from);
		msg.msg_controllen = sizeof(control);
		len = recvmsg(fd, &msg, MSG_TRUNC);
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			err(1, "recvmsg");
		leaves = from.sll_pkttype == PACKET_OUTGOING;
		if (leaves != outgoing)
			continue;
		cmsg = CMSG_FIRSTHDR(&msg);
		if (!cmsg || cmsg->cmsg_type != SCM_TIMESTAMPNS)
			errx(1, "a packet without a time");
		memcpy(&ts, CMSG_DATA(cmsg), sizeof(ts));
		if (!keys_of(data, len < SNAP ? len : SNAP, &packet, &flow))
			continue;
		if (outgoing)
			left(packet, ns(&ts));
		else
			came(packet, flow, ns(&ts), len);
	}
}

static void check_losses(int fd)
{
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		err(1, "statistics");
	if (stats.tp_drops)
		errx(1, "%u packets were not seen", stats.tp_drops);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "netns", 1, NULL, NETNS }, { "in", 1, NULL, IN }, { "out", 1, NULL, OUT },
		{ "file", 1, NULL, OUTFILE }, { NULL, 0, NULL, 0 }
	};
	struct pollfd fds[3];
	sigset_t signals;
	unsigned int i;
	FILE *out;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
	}
	if (optind < argc || !text[IN] || !text[OUT] || !text[OUTFILE])
		errx(1, "give --in DEV --out DEV --file FILE");
	out = open_out(text[OUTFILE]);
	enter_netns(text[NETNS]);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	/* What leaves is seen after it came, also where both sockets have some. */
	fds[0] = (struct pollfd) { open_socket(text[IN], false), POLLIN, 0 };
	fds[1] = (struct pollfd) { open_socket(text[OUT], true), POLLIN, 0 };
	fds[2] = (struct pollfd) { signalfd(-1, &signals, SFD_CLOEXEC), POLLIN, 0 };
	puts("recording");
	fflush(stdout);
	do {
		if (poll(fds, 3, -1) < 0)
			err(1, "poll");
		drain(fds[0].fd, false);
		drain(fds[1].fd, true);
	} while (!fds[2].revents);
	check_losses(fds[0].fd);
	check_losses(fds[1].fd);
	fprintf(out, "record packets %u flows %u\n", used - 1, flows);
	for (i = 1; i < used; i++)
		fprintf(out, "%.3f,%.3f,%u,%u\n", (packets[i].arrival - packets[1].arrival) / 1e3,
			packets[i].delay < 0 ? -1 : packets[i].delay / 1e3, packets[i].flow,
			packets[i].bytes);
	fprintf(out, "#end record\n");
	return fclose(out) ? 1 : 0;
}
