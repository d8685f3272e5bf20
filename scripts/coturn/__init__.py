# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/import-turnserver-conf is made of: reads a turnserver.conf as coturn does, and writes
the slipring.yaml that stands for it.
"""
