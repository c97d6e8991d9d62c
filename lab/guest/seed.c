// SPDX-License-Identifier: GPL-2.0
/*
 * seed: let the kernel have randomness, as it has on any machine a second after it was started.
 *
 *	seed
 *
 * A virtual machine has none. Until the kernel has some, each get_random_u16() makes a key and
 * throws it away, which takes thousands of instructions; CAKE calls it in each round of a flow.
 * What is given here is no secret: it is the same each time.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#define BYTES	64	/* twice what the kernel waits for */

int main(void)
{
	struct {
		struct rand_pool_info info;
		unsigned char bytes[BYTES];
	} given = { .info = { .entropy_count = 8 * BYTES, .buf_size = BYTES } };
	int fd = open("/dev/random", O_WRONLY | O_CLOEXEC);
	char byte;

	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &given))
		err(1, "/dev/random");
	close(fd);
	if (getrandom(&byte, sizeof(byte), GRND_NONBLOCK) != sizeof(byte))
		err(1, "no randomness");
	return 0;
}
