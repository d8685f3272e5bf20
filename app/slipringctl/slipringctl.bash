# SPDX-License-Identifier: BSD-3-Clause
# Completion of slipringctl for bash. slipringctl itself finds the candidates.

_slipringctl()
{
	local found status
	found=$("$1" --complete "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
	status=$?
	COMPREPLY=()
	if [ "$status" -eq 10 ]; then
		compopt -o default 2>/dev/null # files
	elif [ -n "$found" ]; then
		mapfile -t COMPREPLY <<<"$found"
	fi
}

complete -F _slipringctl slipringctl
