// SPDX-License-Identifier: BSD-3-Clause
// Files of odd structure are refused or accepted, and nothing worse. test_conf_errors changes the
// bytes of one file, in which two plain ports have a device each. It never has a port without a
// device that is needed by a VLAN, an exception port or another port, nor a bond, nor a file that
// is checked a second time once its addresses have been learned. This test combines all of these,
// and takes every file of conf/ with each of its nodes removed or replaced.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf_file.h"
#include "emulated.h"
#include "reading/ctx.h"
#include "reading/node.h"
#include "reading/yaml.h"
#include "test.h"

#define TEXT_MAX 65536

static char text[TEXT_MAX];
static unsigned int nb_good, nb_bad, nb_resolved;

// --- loading -------------------------------------------------------------------------------------

// FILE:LINE:COL: key: reason, in one line.
static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	const size_t path = strlen(conf_path);
	unsigned int l, col;
	int used = 0;

	if (strncmp(line, conf_path, path) != 0 ||
		sscanf(line + path, ":%u:%u: %n", &l, &col, &used) != 2 || used == 0 || l == 0 ||
		col == 0 || strstr(line + path + used, ": ") == NULL || strchr(line, '\n') != NULL)
		fail_msg("not FILE:LINE:COL: key: reason: %s\nof\n%s", line, text);
}

// Resolves every pending address: to a host address of its own if fits, otherwise to the address of
// the network.
static void resolve(struct conf *c, struct conf_report *r, bool fits)
{
	struct conf_learned l[64];
	char error[CONF_ERROR_LEN] = "";
	uint32_t nb = 0;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		for (uint32_t j = 0; j < c->ports[i].nb_addresses && nb < 64; j++) {
			const uint8_t v4[4] = {10, 200, (uint8_t)i, fits ? (uint8_t)(j + 1) : 0};
			struct addr v6 = {.b = {0x20, 0x01, 0x0d, 0xb9, [14] = (uint8_t)i}};

			v6.b[15] = fits ? (uint8_t)(j + 1) : 0;
			if (c->ports[i].addresses[j].pending)
				l[nb++] = (struct conf_learned){.port = i,
					.index = j,
					.addr = addr_is_v4(&c->ports[i].addresses[j].addr)
						? addr_from_v4(v4)
						: v6,
					.prefix_len = 120};
		}
	}
	nb_resolved += conf_resolve(c, l, nb, r, error) == 0;
}

static void try_once(bool fits, bool *pending)
{
	struct conf_report r = {.say = hear};
	struct conf *c = conf_load_and_report(conf_path, &r, NULL);

	*pending = false;
	nb_good += c != NULL;
	nb_bad += c == NULL;
	if (c == NULL) {
		assert_in_range(r.nb[CONF_ERROR], 1, 20);
		return;
	}
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		assert_non_null(c->ports[i].name);
		assert_non_null(c->ports[i].device);
		assert_non_null(conf_port_device(&c->ports[i], 0));
	}
	conf_warnings(c, &r);
	*pending = conf_pending(c);
	if (*pending)
		resolve(c, &r, fits);
	conf_free(c);
}

static void try_text(void)
{
	bool pending;

	conf_file_write(text, strlen(text));
	try_once(true, &pending);
	if (pending)
		try_once(false, &pending);
}

// --- files with a replaced node ------------------------------------------------------------------

static const char *const others[] = {NULL, "~", "7", "''", "[]", "{}", "[{}]"};

struct edit {
	unsigned int node; // that is replaced, counted in the order of writing
	const char *replacement; // NULL = removed, with its key
	unsigned int visited;
};

// Writes a node in flow style.
static void put(FILE *out, const struct conf_node *n, struct edit *e)
{
	if (e->visited++ == e->node) {
		fprintf(out, "%s", e->replacement);
	} else if (n->kind == CONF_SCALAR) {
		if (n->plain)
			fprintf(out, "%s", n->text);
		else
			fprintf(out, "\"%s\"", n->text);
	} else {
		fprintf(out, n->kind == CONF_MAP ? "{" : "[");
		for (const struct conf_node *c = n->child; c != NULL; c = c->next) {
			if (e->replacement == NULL && e->visited == e->node) {
				e->visited++;
				continue;
			}
			if (c->key != NULL)
				fprintf(out, "%s: ", c->key);
			put(out, c, e);
			fprintf(out, ",\n");
		}
		fprintf(out, n->kind == CONF_MAP ? "}" : "]");
	}
}

// Returns false if there is no such node.
static bool write_edited(const struct conf_node *root, struct edit e)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	put(out, root, &e);
	fputc('\n', out);
	fputc('\0', out);
	assert_false(ferror(out));
	fclose(out);
	return e.visited > e.node;
}

static void change_every_node(const char *file)
{
	char error[CONF_ERROR_LEN] = "";
	struct conf_ctx x = {.path = "file", .error = error};
	struct conf_node *root;
	size_t len;
	FILE *in = fopen(file, "r");

	assert_non_null(in);
	len = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[len] = '\0';
	root = conf_yaml_parse(&x, text, len);
	if (root == NULL)
		fail_msg("%s: %s", file, error);
	for (unsigned int node = 1;; node++) {
		for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			if (!write_edited(
				    root, (struct edit){.node = node, .replacement = others[i]})) {
				conf_yaml_free(root);
				return;
			}
			try_text();
		}
	}
}

static void every_file_with_each_of_its_nodes_changed(void **state)
{
	glob_t files;

	nb_good = nb_bad = 0;
	assert_int_equal(glob(SOURCE_ROOT "/conf/*.yaml", 0, NULL, &files), 0);
	assert_in_range(files.gl_pathc, 10, 100);
	for (size_t i = 0; i < files.gl_pathc; i++)
		change_every_node(files.gl_pathv[i]);
	globfree(&files);
	assert_true(nb_good > 100 && nb_bad > 1000);
}

// --- ports of all kinds --------------------------------------------------------------------------

// Each list has the spellings of one key of a port; the first one leaves the key out.
static const char *const devices[] = {
	"", "device: net_a, ", "device: 'vtap:w0', ", "device: ~, ", "device: 'bond:wan', "};
static const char *const bonds[] = {"", "bond: ~, ", "bond: {}, ", "bond: {members: []}, ",
	"bond: {mode: lacp}, ", "bond: {primary: net_c}, ", "bond: {members: [net_c, net_d]}, ",
	"bond: {members: [net_c, 'vtap:w1'], primary: net_d}, ",
	"bond: {members: [net_c, net_b], mode: active-backup, primary: 'net_c,x=1'}, "};
static const char *const addresses[] = {"", "addresses: [10.0.0.1/24], ", "addresses: [dhcp], ",
	"addresses: ['fd00::1/64', slaac], "};
static const char *const vlans[] = {"", "vlans: [], ", "vlans: [{id: 7}], ",
	"vlans: [{id: 7, addresses: [10.7.0.1/24]}], ",
	("vlans: [{id: 7, addresses: [dhcp, slaac], exception: {name: sr7}}, "
	 "{id: 8, name: wan, addresses: ['fd08::1/64']}], ")};
static const char *const exceptions[] = {
	"", "exception: {}, ", "exception: {name: sr0}, ", "exception: {device: net_tap7}, "};
static const char *const seconds[] = {"",
	"  - {name: lan, device: net_b, addresses: [10.1.0.1/24], exception: {name: sr0}}\n",
	"  - {name: lan, addresses: [10.1.0.1/24], exception: {name: w0}}\n"};

#define NB(list) (sizeof(list) / sizeof(list[0]))

static void write_ports(unsigned int k)
{
	const char *device = devices[k % NB(devices)], *bond, *address, *vlan, *exception;

	k /= NB(devices);
	bond = bonds[k % NB(bonds)];
	k /= NB(bonds);
	address = addresses[k % NB(addresses)];
	k /= NB(addresses);
	vlan = vlans[k % NB(vlans)];
	k /= NB(vlans);
	exception = exceptions[k % NB(exceptions)];
	k /= NB(exceptions);
	snprintf(text, sizeof(text),
		"ports:\n  - {%s%s%s%s%sname: wan}\n%slisteners:\n  - {address: all}\n"
		"  - {address: all-ipv4, transport: tcp}\nrelay: {addresses: all}\n"
		"auth: {realm: turn.test, secrets: [hunter2hunter2hunter2]}\n",
		device, bond, address, vlan, exception, seconds[k]);
}

static void ports_of_all_kinds(void **state)
{
	const unsigned int nb =
		NB(devices) * NB(bonds) * NB(addresses) * NB(vlans) * NB(exceptions) * NB(seconds);
	const unsigned int step = slowed() ? 7 : 1; // no list has 7 or 14 elements

	nb_good = nb_bad = nb_resolved = 0;
	for (unsigned int k = 0; k < nb; k += step) {
		write_ports(k);
		try_text();
	}
	assert_true(nb_good > 50 / step && nb_bad > 1000 / step && nb_resolved > 20 / step);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_with_each_of_its_nodes_changed),
		cmocka_unit_test(ports_of_all_kinds),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
