# SPDX-License-Identifier: BSD-3-Clause
"""The modules of slipringctl: the wire, tables for people, a view of each answer."""
