# SPDX-License-Identifier: BSD-3-Clause
"""Modules of slipring-import: read a turnserver.conf as coturn does, and write the
corresponding slipring.yaml.
"""
