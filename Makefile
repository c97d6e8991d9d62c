# SPDX-License-Identifier: GPL-2.0
#
# make                     modules and tc plugins for the running kernel, and sftop and
#                          sched-tcp, if what they are built with is there: sftop/Makefile,
#                          sched_tcp/Makefile
# make KDIR=DIR            the same for another kernel's build directory
# make install, uninstall  put them in place or take them away (DESTDIR=)
# make install-nl          shortfirst-nl too, which sets and shows our qdiscs where tc loads
#                          no plugins
# make installcheck [KINDS=las] [TESTS="options tcp nat churn"]
#                          test what is installed, on this machine, as root: in network
#                          namespaces of its own, and it leaves nothing
# make install-sources     what modules are built from to $(SRCDIR), for DKMS:
#                          then `dkms install shortfirst/$(VERSION)`
# make deb                 Debian packages, in build/deb
# make test-deb [SUITE=trixie] [BRIEF=1]
#                          install, upgrade and purge them on a Debian machine with
#                          systemd, on bookworm unless told; brief is without what
#                          builds the modules once more
# make demo [SEED=N]       measure las against pfifo, fq_codel and cake
# make experiment NAME=old-flows [CASES=A,B] [QDISCS="A,B=KIND OPTION"]
#                          another experiment, or your own file: docs/experiments.md;
#                          on the native kernel, or KERNEL=6.1, 6.12, 7.2
# make figures [QUICK=1] [SEED=N] [ONLY=run2c,mix]
#                          all figures and tables of the papers: docs/results.md
# make bench               what a packet costs in our kinds and in others
# make bench NATIVE=1      the same in cycles of this machine's processor
# make bench-check         has that grown?
# make pace                how exactly our kinds, CAKE and HTB keep a rate
#                          STORE=1: what demo, bench and pace measure is README.md's and
#                          the page's from now on
# make test [KERNEL=native] [TESTS="sch_las/tests -k fair"] [SEED=N]
#                          all tests, in virtual machines: on the native kernel,
#                          which takes three minutes, and on the sanitized one, and
#                          if that goes well on 6.1, 6.12, 7.2, the debug one, the one that
#                          looks for data races (kcsan), and on processors of 32 bits (armhf)
#                          and with the high byte first (s390x), unless told which; or some,
#                          named as pytest wants it. What is random on the first two is of
#                          the seed that is told, another one with each commit
# make test KERNEL=kcsan TIME=3600
#                          look for data races: send on four processors, while all else is
#                          done at once, for an hour instead of one minute and a half
# make test KERNEL=mips    a smoke test on both, a MIPS, whose kernel is built before; or
#                          KERNEL=5.10, that of Debian 11
# make coverage            which lines of the modules the tests execute
# make mutants [NUMBER=100] [SEED=1] [FILES="include/shortfirst/hosts.h"] [JOBS=2]
#                          do tests notice when one token of the modules is another?
#                          An hour or some; it goes on where it was interrupted
# make fuzz [TIME=10m] [KINDS=las]
#                          the modules in user space, fuzzed for so long each, a minute
#                          unless told; make fuzz-coverage: which lines what is kept
#                          reaches, and why not all; make fuzz-seeded: are bugs found that
#                          are put in, within a minute of a processor? FROM_NOTHING=1: without
#                          what is kept; make fuzz-keep:
#                          the tree keeps of what was found what reaches the most
# make soak [PACKETS=1000000000] [KINDS=las] [SEED=N]
#                          the same by random operations, until so many packets have come
# make dist                an archive of what is committed, of the version that debian/changelog
#                          has: the same to the byte wherever it is made
# make release [KEY=ID]    tag that version and sign the archive: dist/release
# make tdc                 cases for the kernel's tdc, in build/tdc
# make upstream [LINUX=DIR] [IPROUTE2=DIR]
#                          las alone as patches for net-next and iproute2-next, in
#                          build/upstream; of the sources in DIR, else of Debian's
# make upstream-check      the same, and that they apply, pass checkpatch, sparse and coccinelle,
#                          build, load, pass tdc and their selftest, and do with downloads
#                          what the tree does, to the byte: some minutes
# make check               checkpatch, sparse, shellcheck, ruff, generated pages
# make cross [CROSS=mips]  modules and plugins for other processors, without a warning
# make shell [KERNEL=6.1]  a prompt in a virtual machine with all of it loaded
#
# What demo, experiment, figures and bench have run before, with the same kernel,
# modules and scripts, they do not run again, so that what was interrupted goes on.
# FRESH=1: do. WORKERS=tcp://HOST:8786: experiment and figures run on other machines,
# too, those of a dask scheduler: docs/experiments.md.
#
# demo, experiment, figures, bench, pace, test, coverage, mutants, fuzz, soak, check, deb and shell
# need root on Debian or Ubuntu and install what they lack.

KDIR	?= /lib/modules/$(shell uname -r)/build
# For one virtual machine, for experiments, and for one each
one	= $(or $(firstword $(KERNEL)),6.1)
lab	= $(or $(firstword $(KERNEL)),native)
each	= $(or $(KERNEL),6.1 6.12 7.2)
tested	= $(or $(KERNEL),native sanitized $(each) debug kcsan armhf s390x)
# What the modules and the plugins are built for beside this machine's processor
CROSS	= armhf arm64 s390x i386 mips mipsel

# A module is a folder with a source of its name: sch_las/sch_las.c
FOLDERS	:= $(patsubst %/,%,$(wildcard */))
MODULES	:= $(foreach f,$(FOLDERS),$(if $(wildcard $f/$f.c),$f/$f.ko))
# Debian's "make kernelrelease" does not say what uname -r will
KVER	= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		"$(KDIR)/include/generated/utsrelease.h")
MODDIR	= $(DESTDIR)/lib/modules/$(KVER)/updates
VERSION	= $(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
SRCDIR	= /usr/src/shortfirst-$(VERSION)
PYTHON	:= PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3

all: modules plugins sftop sched_tcp

modules:
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules

plugins:
	$(MAKE) -C tc-plugins

sftop:
	$(MAKE) -C sftop

sched_tcp:
	$(MAKE) -C sched_tcp

# With the headers of musl, where the compiler's machine has them
TRIPLET	= $(shell $(CC) -dumpmachine)
MUSL	= $(wildcard /usr/include/$(subst gnu,musl,$(TRIPLET)))
plugins-musl: plugins
	$(if $(MUSL),$(MAKE) -C tc-plugins -B CPPFLAGS="-nostdinc -isystem $(MUSL) \
		-isystem $(shell $(CC) -print-file-name=include) -isystem /usr/$(TRIPLET)/include")

testtools:
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)/selftests/modules" modules
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)/lab/guest/modules" modules
	$(MAKE) -C lab/guest
	$(MAKE) -C selftests/generated
	$(MAKE) -C tc-plugins own-print shortfirst-nl OWN_PRINT=../selftests/nl
	cp tc-plugins/shortfirst-nl selftests/nl/
	$(CC) -O2 -Wall -Wextra -Werror -shared -fPIC -o vm/lockstep.so \
		vm/lockstep.c -ldl

# For a guest that has nothing else: programs that need no library
smoke:
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)/selftests/modules" modules
	$(MAKE) -C tc-plugins shortfirst-nl LDFLAGS=-static
	$(CC) -O2 -Wall -Wextra -Wno-missing-field-initializers -Werror -static \
		-o selftests/smoke selftests/smoke.c

install: all
	install -d "$(MODDIR)"
	install -m 644 $(MODULES) "$(MODDIR)"
	$(CROSS_COMPILE)strip --strip-debug $(foreach m,$(MODULES),"$(MODDIR)/$(notdir $m)")
	$(MAKE) -C tc-plugins install DESTDIR="$(DESTDIR)"
	$(MAKE) -C command install DESTDIR="$(DESTDIR)"
	$(MAKE) -C sftop install DESTDIR="$(DESTDIR)"
	$(MAKE) -C sched_tcp install DESTDIR="$(DESTDIR)"
	$(if $(DESTDIR),,depmod -a $(KVER))

install-nl:
	$(MAKE) -C tc-plugins install-nl DESTDIR="$(DESTDIR)"

uninstall:
	rm -f $(foreach m,$(MODULES),"$(MODDIR)/$(notdir $m)")
	$(MAKE) -C tc-plugins uninstall DESTDIR="$(DESTDIR)"
	$(MAKE) -C command uninstall DESTDIR="$(DESTDIR)"
	$(MAKE) -C sftop uninstall DESTDIR="$(DESTDIR)"
	$(MAKE) -C sched_tcp uninstall DESTDIR="$(DESTDIR)"
	$(if $(DESTDIR),,depmod -a $(KVER))

installcheck:
	@selftests/installcheck $(addprefix --kind=,$(KINDS)) $(TESTS)

install-sources:
	install -d "$(DESTDIR)$(SRCDIR)"
	cp --parents Kbuild $(wildcard include/shortfirst/*) \
		$(wildcard $(foreach m,$(MODULES),$(dir $m)*.[ch])) "$(DESTDIR)$(SRCDIR)"
	sed 's/#MODULE_VERSION#/$(VERSION)/' debian/shortfirst-dkms.dkms \
		>"$(DESTDIR)$(SRCDIR)/dkms.conf"

# What needs a kernel's headers and gcc, and is quick: sparse and all warnings
# (for MIPS the kernel defines what sparse has defined itself, an error by then).
STRICT	= W=1 KCFLAGS=-Werror
SPARSE	= $(STRICT) $(if $(filter mips,$(ARCH)),,KBUILD_CHECKSRC=2 \
		CF="-D__CHECK_ENDIAN__ -Wsparse-error")
sparse: strict
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)/lab/guest/modules" $(SPARSE) modules

strict:
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" $(SPARSE) modules

clean:
	-$(MAKE) -C "$(KDIR)" M="$(CURDIR)" clean
	-$(MAKE) -C "$(KDIR)" M="$(CURDIR)/selftests/modules" clean
	-$(MAKE) -C "$(KDIR)" M="$(CURDIR)/lab/guest/modules" clean
	$(MAKE) -C tc-plugins clean
	$(MAKE) -C sftop clean
	$(MAKE) -C sched_tcp clean
	$(MAKE) -C lab/guest clean
	$(MAKE) -C selftests/generated clean
	rm -rf build vm/lockstep.so selftests/nl selftests/smoke

setup:
	@vm/host-setup

setup-roots:
	@vm/host-setup roots

demo: setup
	$(PYTHON) -m lab demo --kernel $(one) $(if $(SEED),--seed $(SEED)) \
		$(if $(STORE),--store)

experiment: setup
	$(PYTHON) -m lab experiment $(NAME) --kernel $(lab) \
		$(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases "$(CASES)") \
		$(if $(QDISCS),--qdiscs "$(QDISCS)")

figures: setup
	$(PYTHON) -m lab figures --kernel $(lab) $(if $(SEED),--seed $(SEED)) \
		$(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) \
		$(if $(LIST),--list) $(if $(PAGE),--page)

bench: setup
	$(PYTHON) -m lab bench $(if $(NATIVE),--native,--kernel $(one)) \
		$(if $(STORE),--store)

pace: setup
	$(PYTHON) -m lab pace --kernel $(lab) $(if $(STORE),--store)

bench-check: setup
	$(PYTHON) -m lab bench --check

test: setup
	$(PYTHON) -m vm test $(tested) $(if $(TESTS),--tests='$(TESTS)') \
		$(if $(TIME),--time $(TIME)) $(if $(SEED),--seed $(SEED))

coverage: setup
	$(PYTHON) -m vm coverage $(if $(TESTS),--tests='$(TESTS)')

mutants: setup
	$(PYTHON) -m selftests.mutants $(if $(NUMBER),--number $(NUMBER)) \
		$(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS)) \
		$(addprefix --file=,$(FILES))

fuzz: setup
	$(PYTHON) -m selftests.fuzz run $(if $(TIME),--time $(TIME)) \
		$(addprefix --kind=,$(KINDS))

fuzz-coverage: setup
	$(PYTHON) -m selftests.fuzz coverage $(addprefix --kind=,$(KINDS))

fuzz-seeded: setup
	$(PYTHON) -m selftests.fuzz seeded $(if $(TIME),--time $(TIME)) \
		$(if $(FROM_NOTHING),--from-nothing)

fuzz-keep: setup
	$(PYTHON) -m selftests.fuzz keep $(addprefix --kind=,$(KINDS))

soak: setup
	$(PYTHON) -m selftests.fuzz soak $(addprefix --kind=,$(KINDS)) \
		$(if $(PACKETS),--packets $(PACKETS)) $(if $(SEED),--seed $(SEED))

# An archive's times are those of its commit, and gzip writes none.
DIST	= build/dist/shortfirst-$(VERSION).tar
dist:
	mkdir -p build/dist
	git -c tar.umask=0022 archive --prefix=shortfirst-$(VERSION)/ -o $(DIST) HEAD
	gzip -9nf $(DIST)
	cd build/dist && sha256sum $(notdir $(DIST)).gz >$(notdir $(DIST)).gz.sha256

release:
	@dist/release $(KEY)

tdc:
	$(PYTHON) -m selftests.tdc --to build/tdc

setup-upstream:
	@vm/host-setup upstream

upstream upstream-check: setup-upstream
	$(PYTHON) -m upstream $(if $(filter %-check,$@),check,write) \
		$(if $(LINUX),--linux "$(LINUX)") $(if $(IPROUTE2),--iproute2 "$(IPROUTE2)")

check: setup
	selftests/check $(filter-out debug kcsan native sanitized $(CROSS),$(each))
	selftests/cross $(CROSS)

cross: setup
	selftests/cross $(CROSS)

deb: setup-roots
	$(PYTHON) -m vm deb

test-deb: setup
	$(PYTHON) -m vm test-deb $(if $(SUITE),--suite $(SUITE)) $(if $(BRIEF),--brief)

shell: setup
	$(PYTHON) -m vm shell --kernel $(one)

.PHONY: all modules plugins plugins-musl sftop sched_tcp testtools smoke install install-nl \
	install-sources uninstall installcheck sparse strict clean setup setup-roots setup-upstream \
	demo experiment figures bench bench-check pace test coverage mutants fuzz fuzz-coverage \
	fuzz-keep fuzz-seeded soak dist release tdc upstream upstream-check check cross deb test-deb \
	shell
