# SPDX-License-Identifier: BSD-3-Clause
"""Modules of scripts/import-turnserver-conf: read a turnserver.conf as coturn does, and write the
corresponding slipring.yaml.
"""
