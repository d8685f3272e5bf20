// SPDX-License-Identifier: BSD-3-Clause
// Rules for the table of all keys.
#include <stdio.h>
#include <string.h>

#include "changes/hot_keys.h"
#include "feature_names.h"
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

static bool is_named_secret(const char *path)
{
	static const char *const names[] = {"password", "password-file", "key", "key-sha256",
		"secret", "secret-file", "secrets", "secret-files"};
	const char *name = strrchr(path, '.');

	if (strncmp(path, "auth.", 5) != 0 && strncmp(path, "realms[].", 9) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name + 1, names[i]) == 0)
			return true;
	return false;
}

// A secret that is not known as one would be shown by a comparison of two files.
static void secrets_are_told_to_nobody(void **state)
{
	const struct conf_key *k, *like;
	unsigned int secrets = 0;
	char path[128];

	for (unsigned int i = 0; (k = conf_schema_at(&conf_file_keys, i)) != NULL; i++) {
		if (!is_named_secret(k->path))
			continue;
		secrets++;
		if (!hot_is_secret(k->path))
			fail_msg("%s is not known as a secret", k->path);
		// the keys of another section that is like this one have no rows
		for (unsigned int n = 0; (like = conf_schema_at(&conf_file_keys, n)) != NULL; n++) {
			if (like->like == NULL ||
				strncmp(k->path, like->like, strlen(like->like)) != 0)
				continue;
			snprintf(path, sizeof(path), "%s%s", like->path,
				k->path + strlen(like->like));
			if (!hot_is_secret(path))
				fail_msg("%s is not known as a secret", path);
		}
	}
	assert_true(secrets >= (FEATURES_ALL ? 10 : 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_a_section_stand_together),
		cmocka_unit_test(no_plain_number_counts_seconds),
		cmocka_unit_test(secrets_are_told_to_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
