# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the machine that slipring will run on, for slipring-import and slipring-init."""
