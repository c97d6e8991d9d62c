# SPDX-License-Identifier: GPL-2.0
src := $(M)
include $(M)/Kbuild

modules: $(obj-m:%.o=$(M)/%.ko)

$(M)/%.ko: $(M)/%.c
	echo $< >$@
