# SPDX-License-Identifier: GPL-2.0
#
# Targets (make help):
#
# Build and install
#   make                 modules and tc plugins for the running kernel, and sftop and sched-tcp
#                        if their libraries are there
#   make install         put them in place (DESTDIR=); make uninstall takes them away
#   make install-nl      shortfirst-nl too, for a tc that loads no plugins
#   make install-sources the modules' sources in $(SRCDIR), for DKMS
#   make deb             Debian packages, in build/deb
#   make dist            an archive of what is committed, the same bytes anywhere
#   make release KEY=ID  tag the version and sign the archive: dist/release
#   make cross           modules and plugins for six other processors, without a warning
#   KDIR=DIR             build for another kernel, by its build directory
#
# Test
#   make test            the gate, which every change has to pass: selftests/suite/gate.toml
#       SEED=N           with other random numbers
#       BASE=REV         the change is what differs from this commit
#       ONLY="native 2/4"    one task of the gate, as a failure names it
#       KERNEL="6.1 armhf"   all tests on these kernels instead: native sanitized coverage 5.10
#                        6.1 6.12 7.2 debug kcsan armhf s390x mips
#       TESTS="sch_las/tests -k fair"   some tests, as pytest names them, on native and sanitized
#       TIME=3600        how long tests with several processors run (KERNEL=kcsan), in seconds
#   make test-all        every test on every kernel, packages, fuzzing, figures: hours, with other
#                        random numbers each time; the report is build/test-all/report.md
#   make check           checkpatch, sparse, shellcheck, ruff, generated pages
#   make installcheck    what is installed, on this machine: in network namespaces of its own
#       KINDS=las TESTS="options tcp nat churn"
#   make test-deb        the packages on a Debian machine (SUITE=trixie BRIEF=1)
#   make coverage        lines of the modules that all tests execute (GATE=1: that the gate executes
#                        on the native kernel for each change; TESTS=: some tests)
#   make fuzz TIME=10m   the qdiscs in user space, fuzzed (KINDS=las); fuzz-coverage: lines that the
#                        kept inputs reach; fuzz-seeded: are known bugs found (FROM_NOTHING=1);
#                        fuzz-keep: keep the inputs that reach the most;
#                        fuzz-link: does the guarantee hold (SEQUENCES= SEED=)?
#   make soak PACKETS=N  the same by random operations (KINDS= SEED=)
#   make mutants         do tests notice a changed token (NUMBER= SEED= FILES= JOBS=)
#   make shell KERNEL=6.1    a prompt in a virtual machine with everything loaded
#   make tdc             cases for the kernel's tdc, in build/tdc
#   make upstream        las as patches for net-next and iproute2-next (LINUX=DIR IPROUTE2=DIR);
#                        upstream-check: do they apply, build, load and pass
#
# Measure, in virtual time
#   make demo            las against pfifo, fq_codel and cake (SEED=N)
#   make experiment NAME=old-flows    another experiment, or a file of yours: docs/experiments.md
#       CASES=A,B QDISCS="A,B=KIND OPTION" KERNEL=6.1
#   make scoreboard QDISCS="las,mine=las buffer 1s"   each case against fq_codel, cake and the stored
#                        figures (ONLY=impolite,many SEED=N), RECORD=1: and
#                        against ideal fair queueing: lab/scoreboard.toml
#   make figures         the papers' figures and tables (QUICK=1 SEED=N ONLY=run2c,mix)
#   make bench           instructions for a packet (NATIVE=1: cycles here); bench-check: more now?
#   make pace            how exactly a rate is kept
#       STORE=1          demo, bench and pace: keep the figures that README and docs state
#       FRESH=1          measure again what was measured with the same kernel, modules and scripts
#       WORKERS=tcp://HOST:8786    experiment and figures: on other machines too
#
# Most of these need root on Debian or Ubuntu, run in virtual machines, and install what they lack.

KDIR	?= /lib/modules/$(shell uname -r)/build
# For one virtual machine, for experiments, and for one each
one	= $(or $(firstword $(KERNEL)),6.1)
lab	= $(or $(firstword $(KERNEL)),native)
each	= $(or $(KERNEL),6.1 6.12 7.2)
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
RUN	:= $(PYTHON) -m selftests.suite

all: modules plugins sftop sched_tcp

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile | sed 1,2d

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

scoreboard: setup
	$(PYTHON) -m lab scoreboard --kernel $(lab) $(if $(SEED),--seed $(SEED)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(QDISCS),--qdiscs "$(QDISCS)") \
		$(if $(RECORD),--record)

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
	@$(if $(KERNEL)$(TESTS)$(TIME),$(RUN) run $(or $(KERNEL),$(if $(TIME),kcsan,native sanitized)) \
		$(if $(TESTS),--tests='$(TESTS)') $(if $(TIME),--time $(TIME)),\
		$(RUN) gate $(if $(BASE),--base $(BASE)) $(if $(ONLY),--only "$(ONLY)")) \
		$(if $(SEED),--seed $(SEED))

test-all: setup setup-upstream
	@$(RUN) all $(if $(SEED),--seed $(SEED))

coverage: setup
	$(RUN) coverage $(if $(TESTS),--tests='$(TESTS)') $(if $(GATE),--gate)

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

fuzz-link: setup
	$(PYTHON) -m selftests.fuzz link $(if $(SEQUENCES),--sequences $(SEQUENCES)) \
		$(if $(SEED),--seed $(SEED))

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
	@status=0; selftests/check $(filter-out debug kcsan native sanitized $(CROSS),$(each)) || \
		status=1; selftests/cross $(CROSS) || status=1; exit $$status

cross: setup
	selftests/cross $(CROSS)

deb: setup-roots
	$(PYTHON) -m vm deb

test-deb: setup
	$(RUN) packages $(if $(SUITE),--suite $(SUITE)) $(if $(BRIEF),--brief)

shell: setup
	$(PYTHON) -m vm shell --kernel $(one)

.PHONY: all help modules plugins plugins-musl sftop sched_tcp testtools smoke install install-nl \
	install-sources uninstall installcheck sparse strict clean setup setup-roots setup-upstream \
	demo experiment scoreboard figures bench bench-check pace test test-all coverage mutants fuzz \
	fuzz-coverage fuzz-keep fuzz-link fuzz-seeded soak dist release tdc upstream upstream-check check cross \
	deb test-deb shell
