# SPDX-License-Identifier: GPL-2.0
FIELDS := SECTION CATEGORY SUBMENU TITLE DEPENDS PKGARCH FILES AUTOLOAD

# What was told of one package is not told of the next.
define BuildPackage
  $(foreach f,$(FIELDS),$(eval $f:=))
  $(eval $(call Package/$(1)))
  PACKAGES += $(1)
  $(foreach f,$(FIELDS),$(eval FIELDS_$(1) += "$(1) $f=$(strip $($f))"))
  FIELDS_$(1) += "$(1) description=$$(strip $$(Package/$(1)/description))"
  FIELDS_$(1) += "$(1) conffiles=$$(strip $$(Package/$(1)/conffiles))"

  install-$(1):
	rm -rf $(DIR)/$(1)
	$$(call Package/$(1)/install,$(DIR)/$(1))

  script-$(1)-%:
	$$(file >$(DIR)/$(1).$$*,$$(Package/$(1)/$$*))
	@chmod 755 $(DIR)/$(1).$$*
endef

packages:
	@printf '%s\n' $(PACKAGES)

fields:
	@printf '%s\n' $(foreach p,$(PACKAGES),$(FIELDS_$p))
	@printf '%s\n' $(foreach f,NAME VERSION RELEASE LICENSE LICENSE_FILES BUILD_DIR,"- $f=$(PKG_$f)")

prepare:
	$(Build/Prepare)

compile:
	$(Build/Compile)
