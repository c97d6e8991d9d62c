// SPDX-License-Identifier: GPL-2.0
/*
 * tunnel: all frames of two devices in one UDP flow between two network namespaces,
 * until it is killed.
 *
 *	tunnel --snd NS --rcv NS --dev DEV --addr ADDR --peer ADDR
 *
 *	inner namespace       namespace --snd        --rcv       inner namespace
 *	     tun0 <-----------> DEV  ADDR  ~~ UDP ~~  PEER  DEV <-----------> tun0
 *
 * As in WireGuard the ECN bits of a packet are those of the one that it is in, and a
 * mark that the outer one has got on the way is given to the inner one. What comes
 * out of a socket of UDP has the hash of that flow alone: a tunnel of the kernel's
 * inside one machine would have that of each flow inside.
 *
 * Of each end a process waits for what comes from the device, and another one for what
 * comes from the other end: two calls for a packet, where one that waits for all needs
 * four, and calls are what a run in user-mode Linux takes its time for.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "util.h"

#define PORT		4500
#define ECN		3
#define CE		3
#define MAX_FRAME	2048
#define BUFFER		(32 << 20)

enum { SND, RCV, DEV, ADDR, PEER, OPTIONS };

static const char *text[OPTIONS];

struct end {
	int udp, dev;
};

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

static struct end open_end(const char *ns, const char *own, const char *other)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct sockaddr_in addr[2] = { { 0 } };
	const char *names[2] = { own, other };
	int size = BUFFER, one = 1;
	struct end e;

	for (int i = 0; i < 2; i++) {
		addr[i].sin_family = AF_INET;
		addr[i].sin_port = htons(PORT);
		if (inet_pton(AF_INET, names[i], &addr[i].sin_addr) != 1)
			errx(1, "%s: no IPv4 address", names[i]);
	}
	enter_netns(ns);
	e.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	e.dev = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	at.sll_ifindex = if_nametoindex(text[DEV]);
	if (e.udp < 0 || e.dev < 0 || !at.sll_ifindex ||
	    setsockopt(e.udp, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(e.udp, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(e.dev, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(e.dev, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(e.udp, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)) ||
	    setsockopt(e.dev, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    bind(e.udp, (struct sockaddr *)&addr[0], sizeof(addr[0])) ||
	    connect(e.udp, (struct sockaddr *)&addr[1], sizeof(addr[1])) ||
	    bind(e.dev, (struct sockaddr *)&at, sizeof(at)))
		err(1, "%s in %s", text[DEV], ns);
	return e;
}

static bool is_ip(const unsigned char *frame, ssize_t n)
{
	return n >= ETH_HLEN + (ssize_t)sizeof(struct iphdr) && frame[12] == ETH_P_IP >> 8 &&
	       frame[13] == (ETH_P_IP & 0xff);
}

/* RFC 6040: one that cannot be marked is lost instead. The checksum is RFC 1624's. */
static bool mark(struct iphdr *ip)
{
	unsigned int sum = (unsigned short)~ip->check + (unsigned short)~htons(ip->tos);

	if (!(ip->tos & ECN))
		return false;
	ip->tos |= CE;
	sum += htons(ip->tos);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~((sum & 0xffff) + (sum >> 16));
	return true;
}

/* Take one frame from the device to the other end. */
static void wrap(const struct end *e)
{
	unsigned char frame[MAX_FRAME];
	ssize_t n = recv(e->dev, frame, sizeof(frame), 0);
	struct iovec iov = { frame, n };
	union control control = { .header = {
		.cmsg_level = IPPROTO_IP,
		.cmsg_type = IP_TOS,
		.cmsg_len = CMSG_LEN(sizeof(int)),
	} };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int tos;

	if (n < 0)
		err(1, "reading from %s", text[DEV]);
	tos = is_ip(frame, n) ? frame[ETH_HLEN + 1] & ECN : 0;
	memcpy(CMSG_DATA(&control.header), &tos, sizeof(tos));
	if (sendmsg(e->udp, &msg, 0) != n)
		err(1, "sending");
}

/* And one from there to the device. */
static void unwrap(const struct end *e)
{
	unsigned char frame[MAX_FRAME];
	struct iovec iov = { frame, sizeof(frame) };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(e->udp, &msg, 0);

	if (n < 0)
		err(1, "receiving");
	if (msg.msg_controllen < CMSG_LEN(1))
		errx(1, "a packet without its ECN bits");
	if ((*CMSG_DATA(&control.header) & ECN) == CE && is_ip(frame, n) &&
	    !mark((struct iphdr *)(frame + ETH_HLEN)))
		return;
	if (send(e->dev, frame, n, 0) != n)
		err(1, "writing to %s", text[DEV]);
}

/* Let a process do this until this one ends. */
static void go_on(void (*with)(const struct end *), const struct end *e)
{
	pid_t self = getpid(), child = fork();

	if (child < 0)
		err(1, "fork");
	if (child)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != self)
		err(1, "the tunnel has ended");
	for (;;)
		with(e);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "snd", 1, NULL, SND }, { "rcv", 1, NULL, RCV }, { "dev", 1, NULL, DEV },
		{ "addr", 1, NULL, ADDR }, { "peer", 1, NULL, PEER }, { NULL, 0, NULL, 0 }
	};
	struct end ends[2];
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
	}
	for (c = 0; c < OPTIONS; c++)
		if (!text[c])
			errx(1, "--%s is missing", options[c].name);
	ends[0] = open_end(text[SND], text[ADDR], text[PEER]);
	ends[1] = open_end(text[RCV], text[PEER], text[ADDR]);
	for (c = 0; c < 2; c++) {
		go_on(wrap, &ends[c]);
		go_on(unwrap, &ends[c]);
	}
	puts("up");
	fflush(stdout);
	/* None of them ends but by an error. */
	wait(NULL);
	return 1;
}
