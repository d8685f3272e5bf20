// SPDX-License-Identifier: BSD-3-Clause
// Reads the text of a file without leaving copies of it in memory.
#include "reading/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reading/ctx.h"
#include "reading/fail.h"

void conf_text_wipe(char *text, size_t len)
{
	if (text != NULL)
		explicit_bzero(text, len); // the rest was never touched
	free(text);
}

char *conf_text_read(struct conf_ctx *x, size_t *len)
{
	FILE *f = fopen(x->included != NULL ? x->included : x->path, "re");
	char *text = malloc(CONF_FILE_MAX + 1);
	bool good = false;

	*len = 0;
	if (text == NULL) {
		conf_fail_memory(x);
	} else if (f == NULL) {
		conf_fail(x, NULL, "cannot be opened: %s", strerror(errno));
	} else {
		setvbuf(f, NULL, _IONBF, 0); // stdio keeps no second copy of the file
		*len = fread(text, 1, CONF_FILE_MAX + 1, f);
		if (ferror(f))
			conf_fail(x, NULL, "cannot be read: %s", strerror(errno));
		else if (*len > CONF_FILE_MAX)
			conf_fail(x, NULL, "has more than %u bytes: name a configuration file",
				CONF_FILE_MAX);
		else
			good = true;
	}
	if (f != NULL)
		fclose(f);
	if (good)
		return text;
	conf_text_wipe(text, *len);
	return NULL;
}
