// SPDX-License-Identifier: BSD-3-Clause
// Rules for the table of all keys.
#include <stdio.h>
#include <string.h>

#include "schema/schema.h"
#include "test.h"

// A section is scanned up to the first key of another section.
static void keys_of_a_section_stand_together(void **state)
{
	const struct conf_key *k;

	// the names of constants have dots
	for (unsigned int i = 0; (k = conf_schema_at(&conf_file_keys, i))->flags != CONF_HIDDEN;
		i++) {
		const struct conf_key *found = NULL;
		char path[128];

		snprintf(path, sizeof(path), "%s", k->path);
		for (char *name = path, *end; name != NULL; name = end) {
			end = strchr(name, '.');
			if (end != NULL)
				*end++ = '\0';
			name[strcspn(name, "[")] = '\0';
			found = conf_schema_child(&conf_file_keys, found, name);
			assert_non_null(found);
		}
		assert_ptr_equal(found, k);
	}
}

static void no_plain_number_counts_seconds(void **state)
{
	const struct conf_key *k;

	for (unsigned int i = 0; (k = conf_schema_at(&conf_file_keys, i)) != NULL; i++)
		if (k->type == CONF_NUMBER && k->help != NULL &&
			strncmp(k->help, "Seconds ", 8) == 0)
			fail_msg("%s has seconds, and no CONF_TIME", k->path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_a_section_stand_together),
		cmocka_unit_test(no_plain_number_counts_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
