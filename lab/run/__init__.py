# SPDX-License-Identifier: GPL-2.0
"""What is run: experiments as files, and their guests."""
