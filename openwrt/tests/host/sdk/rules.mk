# SPDX-License-Identifier: GPL-2.0
#
# A stand-in for OpenWrt's SDK, as far as our package's Makefile sees it:
#
#	make -C openwrt/shortfirst TOPDIR=... DIR=... [TARGET_CC=...] TARGET
#
#	packages		the names of all
#	fields			a line "PACKAGE FIELD=VALUE" for each field
#	prepare compile		as told, in $(DIR)/build
#	install-PACKAGE		to $(DIR)/PACKAGE; script-PACKAGE-NAME: to $(DIR)/PACKAGE.NAME

INCLUDE_DIR := $(TOPDIR)/include
CP := cp -fpR
INSTALL_DIR := install -d -m0755
INSTALL_BIN := install -m0755
INSTALL_DATA := install -m0644
INSTALL_CONF := install -m0600
TARGET_CC := cc
TARGET_CFLAGS := -Os -pipe -Wformat -Werror=format-security -fstack-protector -fno-caller-saves
TARGET_CPPFLAGS := -D_FORTIFY_SOURCE=1
TARGET_LDFLAGS := -Wl,-z,now -Wl,-z,relro

all: packages
