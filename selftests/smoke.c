// SPDX-License-Identifier: GPL-2.0
/*
 * smoke - do the kinds work where there is nothing but a kernel?
 *
 * The first process, and beside shortfirst-nl the only program, of a guest whose
 * processor no distribution has a root for (vm/mips.config): of 32 bits and with the
 * high byte first. What depends on neither is tested elsewhere. Each kind is loaded,
 * tried and unloaded, on
 *
 *	d0, a dummy --- gate 1: --- 1:1 --- KIND 10: or 20:
 *
 * and, with a rate, on a dummy d1. A socket puts frames in, another one sees them go
 * out. What becomes of each test is told as report.py tells it, on the second serial
 * port, and in the end the guest's end mark on the console.
 *
 * /sf/options (smoke.py) has what tests/options.py of the kinds tell, a line each, in
 * columns with a tab between them:
 *
 *	published KIND OPTIONS
 *	records KIND OPTIONS		the same, but that each flow of TCP has a record
 *	hosts KIND OPTIONS		with which sources share the link, if it can
 *	tells KIND NAME			what is told of a flow first
 *	set KIND OPTIONS SHOWN		what is shown of a qdisc that has them
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define TABLE		"/sf/options"
#define GATE		"/sys/kernel/debug/sch_gate/d0"
#define UNALIGNED	"/sys/kernel/debug/mips/unaligned_instructions"
#define KINDS_MAX	8
#define FLOWS_MAX	64
#define FRAME_MAX	1500
#define HOST		1000		/* flows that it may have */
#define ETHERNET	12		/* bytes of addresses before what comes next */
#define TCP		20
#define ACK		0x10

/* Failures */

static jmp_buf failed;
static char why[1000];

static _Noreturn void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	longjmp(failed, 1);
}

static void same(const char *what, unsigned long long is, unsigned long long wanted)
{
	if (is != wanted)
		fail("%s is %llu and not %llu", what, is, wanted);
}

/* Files and programs */

static void read_file(const char *path, char *room, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t got, all = 0;

	while (fd >= 0 && (got = read(fd, room + all, size - 1 - all)) > 0)
		all += got;
	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	close(fd);
	room[all] = 0;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("%s to %s: %s", text, path, strerror(errno));
	close(fd);
}

/* What shortfirst-nl has said last */
static char said[16 << 10];

static void tc(const char *fmt, ...)
{
	char words[2000], *argv[200], *word;
	int ends[2], status, argc = 0;
	size_t all = 0;
	va_list args;
	ssize_t got;
	pid_t pid;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	argv[argc++] = "shortfirst-nl";
	for (word = strtok(words, " "); word && argc < 199; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	if (pipe(ends))
		fail("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execv("/sf/shortfirst-nl", argv);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], said + all, sizeof(said) - 1 - all)) > 0)
		all += got;
	said[all] = 0;
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (status) {
		va_start(args, fmt);
		vsnprintf(words, sizeof(words), fmt, args);
		va_end(args);
		fail("shortfirst-nl %s: status %#x, %s", words, status, said);
	}
}

/* A number of what was said in JSON, after the options */
static unsigned long long told(const char *name)
{
	char key[100];
	char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strchr(said, '}');
	at = at ? strstr(at, key) : NULL;
	if (!at)
		fail("no %s in %s", name, said);
	return strtoull(at + strlen(key), NULL, 10);
}

static int load(const char *module, const char *parameters)
{
	char path[100];
	int fd, error;

	snprintf(path, sizeof(path), "/sf/%s.ko", module);
	fd = open(path, O_RDONLY);
	error = fd < 0 || syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	close(fd);
	return error;
}

/* Netlink, for what shortfirst-nl does not do */

struct request {
	struct nlmsghdr n;
	union {
		struct ifinfomsg link;
		struct tcmsg tc;
	};
	char room[400];
};

static struct rtattr *put(struct request *r, int type, const void *data, size_t len)
{
	struct rtattr *attr = (void *)((char *)r + NLMSG_ALIGN(r->n.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(attr), data, len);
	r->n.nlmsg_len = NLMSG_ALIGN(r->n.nlmsg_len) + RTA_ALIGN(attr->rta_len);
	return attr;
}

static void end(struct request *r, struct rtattr *nest)
{
	nest->rta_len = (char *)r + r->n.nlmsg_len - (char *)nest;
}

/* Send a request and have each message of the answer taken. */
static void ask(struct request *r, void (*take)(struct nlmsghdr *n))
{
	static union {
		struct nlmsghdr n;
		char room[64 << 10];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	bool done = false;
	struct nlmsghdr *n;
	int error = 0;
	ssize_t got;

	if (fd < 0 || send(fd, r, r->n.nlmsg_len, 0) < 0)
		fail("netlink: %s", strerror(errno));
	while (!done) {
		got = recv(fd, &answer, sizeof(answer), 0);
		if (got < 0)
			fail("netlink: %s", strerror(errno));
		for (n = &answer.n; NLMSG_OK(n, got); n = NLMSG_NEXT(n, got)) {
			done = n->nlmsg_type == NLMSG_ERROR || n->nlmsg_type == NLMSG_DONE;
			if (done)
				error = *(int *)NLMSG_DATA(n);
			else
				take(n);
		}
	}
	close(fd);
	if (error)
		fail("netlink: request %u: %s", r->n.nlmsg_type, strerror(-error));
}

static void add_dummy(const char *name)
{
	struct request r = {
		.n = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(r.link)),
			.nlmsg_type = RTM_NEWLINK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
		},
	};
	struct ifreq ifr = {};
	struct rtattr *info;
	char path[100];
	int fd;

	put(&r, IFLA_IFNAME, name, strlen(name) + 1);
	info = put(&r, IFLA_LINKINFO, NULL, 0);
	put(&r, IFLA_INFO_KIND, "dummy", sizeof("dummy"));
	end(&r, info);
	ask(&r, NULL);
	/* Nothing may go out that was not put in. */
	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	write_file(path, "1");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(ifr.ifr_name, name);
	if (ioctl(fd, SIOCGIFFLAGS, &ifr))
		fail("flags of %s: %s", name, strerror(errno));
	ifr.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &ifr))
		fail("%s up: %s", name, strerror(errno));
	close(fd);
}

/* Have the gate on d0, in which each packet counts @size bytes, 0: what it has. */
static void add_gate(__u32 size)
{
	struct request r = {
		.n = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(r.tc)),
			.nlmsg_type = RTM_NEWQDISC,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
		},
		.tc = {
			.tcm_ifindex = if_nametoindex("d0"),
			.tcm_parent = TC_H_ROOT,
			.tcm_handle = 1 << 16,
		},
	};
	struct tc_sizespec spec = { .cell_log = 10, .size_log = 10, .tsize = 1 };
	__u16 data = size >> spec.size_log;
	struct rtattr *stab;

	put(&r, TCA_KIND, "gate", sizeof("gate"));
	if (size) {
		stab = put(&r, TCA_STAB, NULL, 0);
		put(&r, TCA_STAB_BASE, &spec, sizeof(spec));
		put(&r, TCA_STAB_DATA, &data, sizeof(data));
		end(&r, stab);
	}
	ask(&r, NULL);
}

/* The flows that hold packets, which are among the kind's classes from 8000 on */
static struct {
	unsigned int number;
	unsigned long long qlen, backlog;	/* of all */
	struct {
		__u32 qlen;
		__u64 told;		/* what the kind tells of it first, if that has 64 bits */
	} each[FLOWS_MAX];
} flows;

static void parse(struct rtattr **tb, int max, void *attrs, int len)
{
	struct rtattr *rta = attrs;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	for (; RTA_OK(rta, len); rta = RTA_NEXT(rta, len)) {
		if ((rta->rta_type & NLA_TYPE_MASK) <= max)
			tb[rta->rta_type & NLA_TYPE_MASK] = rta;
	}
}

static void take_class(struct nlmsghdr *n)
{
	struct rtattr *tb[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1], *app;
	struct tcmsg *t = NLMSG_DATA(n);
	struct gnet_stats_queue queue;

	if (t->tcm_handle >> 16 == 1 || (t->tcm_handle & 0xffff) < 0x8000)
		return;
	parse(tb, TCA_MAX, TCA_RTA(t), TCA_PAYLOAD(n));
	if (!tb[TCA_STATS2])
		fail("class %x has no statistics", t->tcm_handle);
	parse(stats, TCA_STATS_MAX, RTA_DATA(tb[TCA_STATS2]), RTA_PAYLOAD(tb[TCA_STATS2]));
	if (!stats[TCA_STATS_QUEUE])
		fail("class %x does not tell what waits", t->tcm_handle);
	memcpy(&queue, RTA_DATA(stats[TCA_STATS_QUEUE]), sizeof(queue));
	if (!queue.qlen)
		return;
	if (flows.number == FLOWS_MAX)
		fail("class %x is one too many", t->tcm_handle);
	flows.qlen += queue.qlen;
	flows.backlog += queue.backlog;
	flows.each[flows.number].qlen = queue.qlen;
	/* behind its type and another number of 32 bits */
	app = stats[TCA_STATS_APP];
	if (app && RTA_PAYLOAD(app) >= 16)
		memcpy(&flows.each[flows.number].told, (char *)RTA_DATA(app) + 8, 8);
	flows.number++;
}

static void list_flows(void)
{
	struct request r = {
		.n = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(r.tc)),
			.nlmsg_type = RTM_GETTCLASS,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.tc.tcm_ifindex = if_nametoindex("d0"),
	};

	memset(&flows, 0, sizeof(flows));
	ask(&r, take_class);
}

/* Packets */

static int tx, tap;	/* of d0 */

static int packet_socket(const char *name, int protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(name),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), room = 16 << 20;

	setsockopt(fd, SOL_SOCKET, protocol ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &room, sizeof(room));
	if (fd < 0 || bind(fd, (void *)&at, sizeof(at)))
		fail("packet socket: %s", strerror(errno));
	return fd;
}

static unsigned char *put16(unsigned char *p, unsigned int value)
{
	*p++ = value >> 8;
	*p++ = value;
	return p;
}

static unsigned char *put32(unsigned char *p, __u32 value)
{
	return put16(put16(p, value >> 16), value);
}

/*
 * Put in a TCP segment of the flow of this number, by IPv6 if that is odd and from a
 * host of its own every HOST, in so many VLAN tags. Checksums are wrong, and nobody
 * looks at them. False if it was dropped.
 */
static bool send_frame(int fd, unsigned int flow, unsigned int tags, size_t len, __u32 seq)
{
	static unsigned char frame[FRAME_MAX];
	unsigned char *p = frame + ETHERNET;
	unsigned int i, host = 1 + flow / HOST;

	memset(frame, 0, sizeof(frame));
	for (i = 0; i < tags; i++)
		p = put16(put16(p, ETH_P_8021Q), 5 + i);
	if (flow & 1) {
		p = put16(p, ETH_P_IPV6);
		p[0] = 6 << 4;
		put16(p + 4, len - (p - frame) - 40);
		p[6] = IPPROTO_TCP;
		p[8] = 0xfd;
		p[23] = host;
		p[24] = 0xfd;
		p[39] = 2;
		p += 40;
	} else {
		p = put16(p, ETH_P_IP);
		p[0] = 0x45;
		put16(p + 2, len - (p - frame));
		p[9] = IPPROTO_TCP;
		put32(p + 12, 0x0a000000 + host);
		put32(p + 16, 0x0a000002);
		p += 20;
	}
	put32(put16(put16(p, 1024 + flow), 80), seq);
	p[12] = TCP / 4 << 4;
	p[13] = ACK;
	if (p + TCP > frame + len)
		fail("a frame of %zu bytes is too short", len);
	if (send(fd, frame, len, 0) == (ssize_t)len)
		return true;
	if (errno != ENOBUFS)
		fail("send: %s", strerror(errno));
	return false;
}

/* What has gone out since the last call; gives the flow of the first, IPv4 without tags. */
static unsigned int seen(unsigned long long *packets, unsigned long long *bytes)
{
	unsigned char frame[FRAME_MAX];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	unsigned int first = 0;
	ssize_t got;

	*packets = *bytes = 0;
	while ((got = recvfrom(tap, frame, sizeof(frame), MSG_DONTWAIT,
			       (void *)&from, &size)) > 0) {
		size = sizeof(from);
		if (from.sll_pkttype != PACKET_OUTGOING)
			continue;
		if (!*packets)
			first = (frame[34] << 8 | frame[35]) - 1024;
		++*packets;
		*bytes += got;
	}
	return first;
}

/* A number of the gate's */
static unsigned long long gate(const char *name)
{
	char text[1000] = "\n", key[50];
	char *at;

	read_file(GATE, text + 1, sizeof(text) - 1);
	snprintf(key, sizeof(key), "\n%s=", name);
	at = strstr(text, key);
	if (!at)
		fail("no %s in %s", name, text);
	return strtoull(at + strlen(key), NULL, 10);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Let packets out, all that wait with 0, and wait until they are. */
static void let_out(unsigned int number)
{
	double last = now() + 10;
	char text[30];

	snprintf(text, sizeof(text), number ? "release %u" : "release all", number);
	write_file(GATE, text);
	while (gate("releasing")) {
		if (now() > last)
			fail("packets do not leave the gate");
	}
	same("mismatches of gate and child", gate("mismatches"), 0);
}

static void look(void)
{
	tc("-s -j qdisc show dev d0 parent 1:1");
}

/* Begin with a qdisc that knows nothing. */
static void renew(const char *kind, const char *options)
{
	static unsigned int handle = 0x10;

	handle ^= 0x30;
	tc("qdisc replace dev d0 parent 1:1 handle %x: %s %s", handle, kind, options);
}

/* The table */

static char table[1 << 20];
static const char *kinds[KINDS_MAX];
static unsigned int n_kinds;

/* The options in the next line of this sort for a kind, NULL if there is no more */
static char *next_line(const char *sort, const char *kind, char **at, char **shown)
{
	static char line[4000];
	char *columns[4] = {};
	unsigned int i;
	char *rest;

	while (**at) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(*at, "\n"), *at);
		*at += strcspn(*at, "\n") + 1;
		rest = line;
		for (i = 0; i < 4; i++)
			columns[i] = strsep(&rest, "\t") ?: "";
		*shown = columns[3];
		if (!strcmp(columns[0], sort) && (!kind || !strcmp(columns[1], kind)))
			return kind ? columns[2] : columns[1];
	}
	return NULL;
}

static const char *options_of(const char *sort, const char *kind)
{
	char *at = table, *shown;

	return next_line(sort, kind, &at, &shown) ?: "";
}

/* The tests */

/* The reader of headers agrees with the flow dissector: it fails with this if all is well. */
static void flow_key(const char *kind)
{
	(void)kind;
	same("error of flow_key_test", load("flow_key_test", "count=100000"), EAGAIN);
}

/* Loads and stores that the processor could not do, so that the kernel did them: slow */
static unsigned long long unaligned(void)
{
	char text[30];

	read_file(UNALIGNED, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static unsigned long long unaligned_before;

static void loads(const char *kind)
{
	char module[50];

	unaligned_before = unaligned();
	snprintf(module, sizeof(module), "sch_%s", kind);
	same("error", load(module, ""), 0);
	renew(kind, "");
}

/* What is shown is what was set, at once and by a change: all values of all options. */
static void options(const char *kind)
{
	unsigned int number = 0;
	char *at = table;
	char *set, *shown;

	while ((set = next_line("set", kind, &at, &shown))) {
		renew(kind, set);
		tc("qdisc show dev d0 parent 1:1");
		if (!strstr(said, shown))
			fail("with %s it is %s and not %s", set, said, shown);
		number++;
	}
	if (number < 20)
		fail("only %u lines", number);
}

/* Flows by IPv4 and IPv6, each without a VLAN tag, with one and with two */
static void classes(const char *kind)
{
	unsigned int flow, tags;

	renew(kind, options_of("records", kind));
	for (flow = 0; flow < 4; flow++) {
		for (tags = 0; tags < 3; tags++) {
			if (!send_frame(tx, flow, tags, 100 + flow, 1))
				fail("one of few packets was dropped");
		}
	}
	look();
	list_flows();
	same("flows", flows.number, 4);
	for (flow = 0; flow < 4; flow++)
		same("packets of a flow", flows.each[flow].qlen, 3);
	same("packets of all flows", flows.qlen, 12);
	same("bytes of all flows", flows.backlog, 3 * (100 + 101 + 102 + 103));
	same("qlen", told("qlen"), flows.qlen);
	same("backlog", told("backlog"), flows.backlog);
	same("flows_queued", told("flows_queued"), 4);
	let_out(0);
	list_flows();
	same("flows that hold nothing", flows.number, 0);
}

/* Two of them by IPv4 and two by IPv6, with two flows each, where hosts share the link */
static void hosts(const char *kind)
{
	unsigned int flow;

	renew(kind, options_of("hosts", kind));
	for (flow = 0; flow < 4; flow++) {
		send_frame(tx, flow, 0, 100, 1);
		send_frame(tx, HOST + flow, 0, 100, 1);
	}
	look();
	same("qlen", told("qlen"), 8);
	same("flows_queued", told("flows_queued"), 8);
	same("hosts_known", told("hosts_known"), 4);
	let_out(0);
}

/* Short frames of a new flow pass those of one that has sent much. */
static void order(const char *kind)
{
	unsigned long long packets, bytes;
	unsigned int i;

	renew(kind, options_of("published", kind));
	for (i = 0; i < 400; i++) {
		send_frame(tx, 0, 0, FRAME_MAX, i * FRAME_MAX);
		let_out(1);
	}
	for (; i < 403; i++)
		send_frame(tx, 0, 0, FRAME_MAX, i * FRAME_MAX);
	send_frame(tx, 2, 0, 60, 1);
	seen(&packets, &bytes);
	let_out(1);
	same("the first to leave", seen(&packets, &bytes), 2);
	same("packets that have left", packets, 1);
	let_out(0);
	same("the next", seen(&packets, &bytes), 0);
	same("packets that have left then", packets, 3);
}

/* What goes in beyond the limit is dropped, and all that was not has left in the end. */
static void full(const char *kind)
{
	unsigned long long packets, bytes;
	unsigned int i;

	renew(kind, "limit 10");
	seen(&packets, &bytes);
	for (i = 0; i < 25; i++)
		send_frame(tx, i % 2, 0, 1000, i * 1000);
	look();
	same("qlen", told("qlen"), 10);
	same("backlog", told("backlog"), 10 * 1000);
	same("drops", told("drops"), 15);
	same("drop_limit", told("drop_limit"), 15);
	same("packets", told("packets"), 0);
	let_out(0);
	look();
	same("qlen in the end", told("qlen"), 0);
	same("backlog in the end", told("backlog"), 0);
	same("memory in the end", told("memory"), 0);
	same("packets in the end", told("packets"), 10);
	same("bytes in the end", told("bytes"), 10 * 1000);
	same("drops in the end", told("drops"), 15);
	seen(&packets, &bytes);
	same("packets seen", packets, 10);
	same("bytes seen", bytes, 10 * 1000);
}

/* The same of many flows, that come and go as it happens, where memory is short, too */
static void many(const char *kind)
{
	unsigned long long packets, bytes, all_packets = 0, all_bytes = 0;
	unsigned int i, flow, unfreed, sent[FLOWS_MAX] = {};
	size_t len;

	srand(1);
	renew(kind, "limit 100 memory_limit 128kb buffer 0");
	seen(&packets, &bytes);
	for (i = 1; i <= 4000; i++) {
		/* half of the packets are one flow's */
		flow = rand() & 1 ? rand() % FLOWS_MAX : 0;
		len = rand() & 1 ? 80 + rand() % 100 : FRAME_MAX;
		send_frame(tx, flow, 0, len, sent[flow]);
		sent[flow] += len;
		if (!(rand() % 3))
			let_out(1 + rand() % 3);
		if (i % 200)
			continue;
		seen(&packets, &bytes);
		all_packets += packets;
		all_bytes += bytes;
		look();
		same("packets", told("packets"), all_packets);
		same("bytes", told("bytes"), all_bytes);
		same("sent, dropped and waiting", all_packets + told("drops") + told("qlen"), i);
		same("qlen of the gate", gate("qlen"), told("qlen"));
		same("backlog of the gate", gate("backlog"), told("backlog"));
		list_flows();
		if (flows.qlen > told("qlen") || flows.backlog > told("backlog"))
			fail("flows hold %llu packets of %s", flows.qlen, said);
	}
	if (!told("drops"))
		fail("nothing was dropped: %s", said);
	let_out(0);
	seen(&packets, &bytes);
	look();
	same("qlen in the end", told("qlen"), 0);
	same("backlog in the end", told("backlog"), 0);
	same("memory in the end", told("memory"), 0);
	same("sent and dropped", told("packets") + told("drops"), 4000);
	same("packets seen", all_packets + packets, told("packets"));
	same("bytes seen", all_bytes + bytes, told("bytes"));
	for (i = 0; i < 1000 && !ioctl(tx, SIOCOUTQ, &unfreed) && unfreed; i++)
		usleep(10000);
	same("bytes of packets that nobody has freed", unfreed, 0);
}

/* Counters of 64 bits, by packets that count a megabyte each, as much as the kernel lets them */
static void counters(const char *kind)
{
	const unsigned long long size = 1 << 20, number = 5000;
	const char *tells;
	unsigned int i;

	add_gate(size);
	renew(kind, options_of("records", kind));
	for (i = 1; i <= number; i++) {
		send_frame(tx, 0, 0, 100, i * 100);
		if (i % 100 == 0)
			let_out(0);
	}
	send_frame(tx, 0, 0, 100, i * 100);
	list_flows();
	look();
	let_out(0);
	add_gate(0);
	same("bytes", told("bytes"), number * size);
	same("packets", told("packets"), number);
	same("drops", told("drops"), 0);
	same("backlog", told("backlog"), size);
	same("flows", flows.number, 1);
	same("bytes that wait of its flow", flows.backlog, size);
	tells = options_of("tells", kind);
	if (!strcmp(tells, "attained"))
		same(tells, flows.each[0].told, (number + 1) * size);
	else if (!strcmp(tells, "rank"))	/* by sequence numbers, without the headers */
		same(tells, flows.each[0].told, number * 100 + 100 - ETH_HLEN - 20 - TCP);
}

/* A rate is kept, and the kind wakes up by itself. */
static void shaped(const char *kind)
{
	unsigned int i, number = 400, size = 1250;
	double began, took;
	int fd = packet_socket("d1", 0);

	tc("qdisc replace dev d1 root %s rate 10mbit buffer 2s", kind);
	began = now();
	for (i = 0; i < number; i++)
		send_frame(fd, i % 8, 0, size, i * size);
	close(fd);
	do {
		tc("-s -j qdisc show dev d1");
		took = now() - began;
	} while (told("qlen") && took < 20);
	same("qlen", told("qlen"), 0);
	same("backlog", told("backlog"), 0);
	same("sent and dropped", told("packets") + told("drops"), number);
	same("bytes", told("bytes"), told("packets") * size);
	if (told("packets") < number / 2)
		fail("most were dropped: %s", said);
	if (took < .9 * told("bytes") / 1250000)
		fail("%llu bytes took %.3f s", told("bytes"), took);
	tc("qdisc del dev d1 root");
}

/* Since the kind was loaded */
static void aligned(const char *kind)
{
	(void)kind;
	same("number of unaligned accesses", unaligned() - unaligned_before, 0);
}

static void unloads(const char *kind)
{
	char module[50];

	tc("qdisc del dev d0 parent 1:1");
	snprintf(module, sizeof(module), "sch_%s", kind);
	if (syscall(SYS_delete_module, module, O_NONBLOCK))
		fail("%s", strerror(errno));
}

static const struct test {
	const char *name;
	void (*run)(const char *kind);
	const char *needs;	/* only kinds with a line of this sort */
} tests[] = {
	{ "loads", loads },	/* first */
	{ "options", options },
	{ "classes", classes },
	{ "hosts", hosts, .needs = "hosts" },
	{ "order", order },
	{ "full", full },
	{ "many", many },
	{ "counters", counters },
	{ "shaped", shaped },
	{ "aligned", aligned },
	{ "unloads", unloads },	/* last */
};

#define N_TESTS	(sizeof(tests) / sizeof(*tests))

static bool wanted(const struct test *test, const char *kind)
{
	return !test->needs || *options_of(test->needs, kind);
}

/* How it goes */

static FILE *report;

static void tell_text(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ')
			fprintf(report, "\\u%04x", *text);
		else
			fprintf(report, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
	}
}

/* Whether it has passed */
static bool run(unsigned int number, void (*test)(const char *kind), const char *kind)
{
	double began = now();
	bool passed;

	fprintf(report, "{\"begins\": %u}\n", number);
	fflush(report);
	passed = !setjmp(failed);
	if (passed)
		test(kind);
	fprintf(report, "{\"ends\": %u, \"how\": \"%s\", \"seconds\": %.3f, \"text\": \"", number,
		passed ? "passed" : "failed", now() - began);
	if (!passed)
		tell_text(why);
	fprintf(report, "\"}\n");
	fflush(report);
	return passed;
}

static bool run_all(void)
{
	unsigned int k, t, number = 0;
	bool passed;

	fprintf(report, "{\"left_out\": {}, \"tests\": [\"smoke.c::flow_key\"");
	for (k = 0; k < n_kinds; k++) {
		for (t = 0; t < N_TESTS; t++) {
			if (wanted(&tests[t], kinds[k]))
				fprintf(report, ", \"smoke.c::%s[%s]\"", tests[t].name, kinds[k]);
		}
	}
	fprintf(report, "]}\n");
	passed = run(number++, flow_key, NULL);
	for (k = 0; k < n_kinds; k++) {
		for (t = 0; t < N_TESTS; t++) {
			if (wanted(&tests[t], kinds[k]))
				passed &= run(number++, tests[t].run, kinds[k]);
		}
	}
	fprintf(report, "{\"done\": %d}\n", !passed);
	fflush(report);
	return passed;
}

static void set_up(void)
{
	char *at = table, *kind, *shown;
	struct termios raw;
	int error;

	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mkdir("/sys", 0755);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	report = fopen("/dev/ttyS1", "w");
	if (!report || tcgetattr(fileno(report), &raw))
		fail("no second serial port");
	cfmakeraw(&raw);
	tcsetattr(fileno(report), TCSANOW, &raw);

	read_file(TABLE, table, sizeof(table));
	while (n_kinds < KINDS_MAX && (kind = next_line("records", NULL, &at, &shown)))
		kinds[n_kinds++] = strdup(kind);
	error = load("sch_gate", "");
	if (error)
		fail("sch_gate: %s", strerror(error));
	add_dummy("d0");
	add_dummy("d1");
	add_gate(0);
	tx = packet_socket("d0", 0);
	tap = packet_socket("d0", ETH_P_ALL);
}

int main(void)
{
	static int status = 1;
	char config[1000], token[50] = "", taint[20];
	char *at;

	puts("shortfirst-vm: up");
	if (!setjmp(failed)) {
		set_up();
		status = !run_all();
		tcdrain(fileno(report));
	} else {
		printf("smoke: %s\n", why);
	}
	if (!setjmp(failed)) {
		read_file("/sf/config", config, sizeof(config));
		read_file("/proc/sys/kernel/tainted", taint, sizeof(taint));
		at = strstr(config, "\ntoken=");
		if (at)
			sscanf(at, "\ntoken=%49s", token);
		printf("shortfirst-vm: exit %d taint %ld %s\n", status, atol(taint), token);
	}
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	return 1;
}
