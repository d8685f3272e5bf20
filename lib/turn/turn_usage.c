// SPDX-License-Identifier: BSD-3-Clause
// Names of the classes of loss.
#include "turn_usage.h"

#include <stddef.h>

static const struct {
	const char *name, *text;
} losses[TURN_LOSS_END] = {
#define X(id, name, text) [id] = {name, text},
	TURN_LOSSES(X)
#undef X
};

const char *turn_loss_name(unsigned int loss)
{
	return loss < TURN_LOSS_END ? losses[loss].name : NULL;
}

const char *turn_loss_text(unsigned int loss)
{
	return loss < TURN_LOSS_END ? losses[loss].text : NULL;
}
