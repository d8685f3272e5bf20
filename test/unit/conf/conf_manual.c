// SPDX-License-Identifier: BSD-3-Clause
// Writes the reference of all configuration keys, or, with a file name, compares it with that file.
#include "conf.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	char *page = NULL;
	size_t len = 0, line = 1, i = 0;
	FILE *out = open_memstream(&page, &len), *file;
	int c;

	if (out == NULL)
		return 1;
	conf_manual(out);
	fclose(out);
	if (argc < 2) {
		fwrite(page, 1, len, stdout);
		free(page);
		return 0;
	}
	file = fopen(argv[1], "re");
	if (file == NULL) {
		perror(argv[1]);
		free(page);
		return 1;
	}
	while ((c = fgetc(file)) != EOF && i < len && c == (unsigned char)page[i]) {
		line += c == '\n';
		i++;
	}
	if (c != EOF || i < len)
		fprintf(stderr, "%s:%zu: differs from the schema: run scripts/manual\n", argv[1],
			line);
	fclose(file);
	free(page);
	return c != EOF || i < len;
}
