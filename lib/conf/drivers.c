// SPDX-License-Identifier: BSD-3-Clause
// Driver profiles: a directory of small files with a schema of their own. The code that reads the
// configuration reads them too.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "conf_drivers.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/read.h"
#include "reading/yaml.h"
#include "schema/schema.h"

#define FILES_MAX 256 // files in one directory
#define SUFFIX ".yaml"

#define FIELD(f) \
	.offset = offsetof(struct conf_driver, f), .size = sizeof(((struct conf_driver *)NULL)->f)

// clang-format off
static const struct conf_key keys[] = {
{"drivers", CONF_TEXTS, .flags = CONF_REQUIRED | CONF_WORD, .min = 1, .max = 16,
	.offset = offsetof(struct conf_driver, names), .size = sizeof(char *),
	.count = offsetof(struct conf_driver, nb_names),
	.help = "Names of the DPDK drivers that the profile describes."},
{"tested", CONF_TEXT, FIELD(tested), .flags = CONF_REQUIRED, .min = 1, .max = 256,
	.help = "Systems on which it was tested."},
{"steering", CONF_CHOICE, FIELD(steering), .choices = conf_steering_choices, .def = "auto",
	.help = "Default of ports[].steering for these drivers."},
{"rx-ring", CONF_NUMBER, FIELD(rx_ring), .min = 64, .max = 32768,
	.help = "Receive descriptors of a queue."},
{"tx-ring", CONF_NUMBER, FIELD(tx_ring), .min = 64, .max = 32768,
	.help = "Transmit descriptors of a queue."},
{"devargs", CONF_TEXT, FIELD(devargs), .min = 0, .max = 255,
	.help = "Arguments of devices that are not on a bus: key=value,..."},
{"interrupts", CONF_BOOL, FIELD(interrupts), .def = "false",
	.help = "True if its receive interrupts can wake idle workers."},
};
// clang-format on

static const struct conf_table driver_keys = {.key = keys, .nb = sizeof(keys) / sizeof(keys[0])};

// --- one file ------------------------------------------------------------------------------------

// Checks "key=value,key=value": nothing is empty, and nothing could end the device's name.
static int check_devargs(struct conf_ctx *x, const struct conf_driver *d)
{
	const struct conf_node *n = conf_node_by_field(x->root, &d->devargs, 0);
	const char *p = d->devargs;

	if (p == NULL || *p == '\0')
		return 0;
	for (;; p++) {
		const size_t len = strcspn(p, ","), key = strcspn(p, "=,");

		if (key == 0 || key + 1 >= len ||
			strspn(p,
				"abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789_-") != key)
			return conf_fail(x, n, "must be key=value pairs, separated by commas");
		p += len;
		if (*p == '\0')
			return 0;
	}
}

// Fails if a driver has two profiles.
static int check_names(
	struct conf_ctx *x, const struct conf_drivers *all, const struct conf_driver *d)
{
	for (uint32_t i = 0; i < d->nb_names; i++) {
		const struct conf_driver *holder = conf_driver_find(all, d->names[i]);

		for (uint32_t j = 0; j < i; j++)
			if (strcmp(d->names[i], d->names[j]) == 0)
				holder = d;
		if (holder != NULL)
			return conf_fail(x, conf_node_by_field(x->root, &d->names, i),
				"%s has the driver '%s' already: remove one", holder->path,
				d->names[i]);
	}
	return 0;
}

static int driver_load(const struct conf_drivers *all, struct conf_driver *d, char *error)
{
	struct conf_ctx x = {.path = d->path, .error = error, .keys = &driver_keys};
	int rc = conf_read_file(&x, d);

	d->root = x.root;
	if (rc == 0)
		rc = check_devargs(&x, d);
	return rc == 0 ? check_names(&x, all, d) : rc;
}

// --- the directory -------------------------------------------------------------------------------

static int is_profile(const struct dirent *e)
{
	const size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > strlen(SUFFIX) &&
		strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int fail_dir(const char *dir, char *error, const char *reason)
{
	snprintf(error, CONF_ERROR_LEN, "%s: driver profiles: %s", dir, reason);
	return -EINVAL;
}

static int load_files(struct conf_drivers *d, struct dirent **files, int nb, char *error)
{
	int rc = 0;

	if (nb > FILES_MAX)
		return fail_dir(d->dir, error,
			"has more than 256 files: name the directory of "
			"the profiles");
	d->list = calloc((size_t)nb + 1, sizeof(*d->list));
	if (d->list == NULL)
		return fail_dir(d->dir, error, "out of memory");
	for (int i = 0; i < nb && rc == 0; i++) {
		struct conf_driver one = {0}, *slot = &d->list[d->nb];

		if (asprintf(&one.path, "%s/%s", d->dir, files[i]->d_name) < 0)
			return fail_dir(d->dir, error, "out of memory");
		*slot = one;
		rc = driver_load(d, slot, error);
		d->nb++;
	}
	return rc;
}

struct conf_drivers *conf_drivers_load(const char *dir, char error[CONF_ERROR_LEN])
{
	struct conf_drivers *d = calloc(1, sizeof(*d));
	struct dirent **files = NULL;
	int nb, err = EINVAL, rc = -EINVAL;

	error[0] = '\0';
	if (d != NULL)
		d->dir = strdup(dir);
	nb = d != NULL && d->dir != NULL ? scandir(dir, &files, is_profile, alphasort) : -1;
	if (nb < 0) {
		err = errno;
		fail_dir(dir, error, strerror(err));
	} else {
		rc = load_files(d, files, nb, error);
	}
	for (int i = 0; i < nb; i++)
		free(files[i]);
	free(files);
	if (rc == 0)
		return d;
	conf_drivers_free(d);
	errno = err == ENOENT ? ENOENT : EINVAL;
	return NULL;
}

void conf_drivers_free(struct conf_drivers *d)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; i < d->nb; i++) {
		conf_yaml_free(d->list[i].root);
		conf_read_free(&driver_keys, NULL, &d->list[i]);
		free(d->list[i].path);
	}
	free(d->list);
	free(d->dir);
	free(d);
}

const struct conf_driver *conf_driver_find(const struct conf_drivers *d, const char *driver)
{
	for (uint32_t i = 0; d != NULL && i < d->nb; i++)
		for (uint32_t j = 0; j < d->list[i].nb_names; j++)
			if (strcmp(d->list[i].names[j], driver) == 0)
				return &d->list[i];
	return NULL;
}

const struct conf_driver *conf_driver_of_device(const struct conf_drivers *d, const char *device)
{
	const size_t end = strcspn(device, ",");
	const struct conf_driver *found = NULL;
	size_t longest = 0;

	for (uint32_t i = 0; d != NULL && i < d->nb; i++) {
		for (uint32_t j = 0; j < d->list[i].nb_names; j++) {
			const char *name = d->list[i].names[j];
			const size_t len = strlen(name);

			if (len <= longest || len > end || strncmp(name, device, len) != 0)
				continue;
			found = &d->list[i];
			longest = len;
		}
	}
	return found;
}

// --- showing -------------------------------------------------------------------------------------

// True if name is the profile's file name without path and suffix: "ice" for ".../ice.yaml".
static bool is_file_name(const struct conf_driver *d, const char *name)
{
	const char *base = strrchr(d->path, '/') + 1;
	const size_t len = strlen(name);

	return strncmp(base, name, len) == 0 && strcmp(base + len, SUFFIX) == 0;
}

static const struct conf_driver *find_any(const struct conf_drivers *d, const char *name)
{
	const struct conf_driver *found = conf_driver_find(d, name);

	if (found == NULL)
		found = conf_driver_of_device(d, name);
	for (uint32_t i = 0; found == NULL && d != NULL && i < d->nb; i++)
		if (is_file_name(&d->list[i], name))
			found = &d->list[i];
	return found;
}

// Ends a line with the file and line of a field's value. fallback: what decides the value if the
// profile does not.
static void end_line(
	FILE *out, const struct conf_driver *d, const void *field, const char *fallback)
{
	const struct conf_node *n = d != NULL ? conf_node_by_field(d->root, field, 0) : NULL;

	if (n != NULL)
		fprintf(out, " # %s:%u\n", d->path, n->line);
	else
		fprintf(out, " # %s\n", fallback);
}

// Writes a text in quotes. The text holds no control characters.
static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s: \"", key);
	for (; *text != '\0'; text++)
		fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	fputc('"', out);
}

static void show_ring(FILE *out, const struct conf_driver *d, const uint16_t *field,
	const struct conf *c, const char *constant)
{
	const struct conf_table *t = &conf_file_keys;
	const struct conf_key *constants = conf_schema_child(t, NULL, CONF_TEST_CONSTANTS);
	const struct conf_key *k = conf_schema_child(t, constants, constant);
	const char *key = strchr(constant, '.') + 1;

	fprintf(out, "%s: ", key);
	if (d != NULL && *field != 0)
		fprintf(out, "%u", *field);
	else if (c != NULL)
		fprintf(out, "%u", key[0] == 'r' ? c->rx_ring : c->tx_ring);
	else
		fputs(k->def, out);
	end_line(out, d, field, "default");
}

static void show_unknown(FILE *out, const struct conf_drivers *d, const char *name)
{
	fprintf(out, "# %s: no profile, so its ports use what the driver reports.", name);
	if (d == NULL || d->nb == 0) {
		fputs(" There are no profiles at all.\n", out);
		return;
	}
	fprintf(out, " Profiles in %s:\n#", d->dir);
	for (uint32_t i = 0; i < d->nb; i++)
		for (uint32_t j = 0; j < d->list[i].nb_names; j++)
			fprintf(out, " %s", d->list[i].names[j]);
	fputc('\n', out);
}

void conf_driver_show(
	FILE *out, const struct conf_drivers *all, const struct conf *c, const char *name)
{
	static const struct conf_driver nothing = {.tested = "", .devargs = ""};
	const struct conf_driver *d = find_any(all, name), *v = d != NULL ? d : &nothing;
	const struct conf_choice *step = conf_steering_choices;

	if (d == NULL)
		show_unknown(out, all, name);
	fputs("drivers: [", out);
	for (uint32_t i = 0; i < v->nb_names; i++)
		fprintf(out, "%s%s", i > 0 ? ", " : "", v->names[i]);
	fprintf(out, "%s]", d == NULL ? name : "");
	end_line(out, d, &v->names, "no profile");
	while (step->value != (int)v->steering)
		step++;
	fprintf(out, "steering: %s", step->name);
	end_line(out, d, &v->steering, "default");
	show_ring(out, d, &v->rx_ring, c, "buffers.rx-ring");
	show_ring(out, d, &v->tx_ring, c, "buffers.tx-ring");
	put_text(out, "devargs", v->devargs != NULL ? v->devargs : "");
	end_line(out, d, &v->devargs, "default");
	fprintf(out, "interrupts: %s", v->interrupts ? "true" : "false");
	end_line(out, d, &v->interrupts, "default");
	put_text(out, "tested", d != NULL ? v->tested : "no profile");
	end_line(out, d, &v->tested, "no profile");
}
