# SPDX-License-Identifier: GPL-2.0
# Of a kernel: that what Kbuild lists would be built, and that it would be loaded at boot
KERNEL_BUILD_DIR := $(DIR)/build
KERNEL_MAKE = $(MAKE) -f $(INCLUDE_DIR)/kbuild.mk

AutoProbe = $(1)

# It gives a package of the name kmod-...
define KernelPackage
  $(eval $(call KernelPackage/$(1)))
  define Package/kmod-$(1)
    SECTION:=kernel
    CATEGORY:=Kernel modules
    $(call KernelPackage/$(1))
  endef
  Package/kmod-$(1)/description = $$(KernelPackage/$(1)/description)
  define Package/kmod-$(1)/install
	install -d $$(1)/lib/modules $$(1)/etc/modules.d
	cp $(FILES) $$(1)/lib/modules/
	printf '%s\n' $(AUTOLOAD) >$$(1)/etc/modules.d/$(1)
  endef
  $$(eval $$(call BuildPackage,kmod-$(1)))
endef
