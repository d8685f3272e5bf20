# SPDX-License-Identifier: BSD-3-Clause
"""The modules of slipringctl: the connection, tables, and a view of each answer."""
