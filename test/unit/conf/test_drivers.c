// SPDX-License-Identifier: BSD-3-Clause
// Driver profiles: those of the tree, errors and their positions, selection, and output.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "conf_drivers.h"
#include "test.h"

#define ICE "drivers: [net_ice]\ntested: not run\nsteering: address\n"

static char dir[] = "/tmp/test-drivers-XXXXXX";
static char error[CONF_ERROR_LEN];

static void put(const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void take(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

static struct conf_drivers *load(const char *path)
{
	struct conf_drivers *d = conf_drivers_load(path, error);

	if (d == NULL)
		fail_msg("%s", error);
	return d;
}

// --- profiles of the tree -----------------------------------------------------------------------

static void test_shipped(void **state)
{
	static const struct {
		const char *name;
		enum conf_steering steering;
	} rows[] = {
		{"mlx5_pci", CONF_STEERING_AUTO},
		{"mlx5_auxiliary", CONF_STEERING_AUTO},
		{"net_ice", CONF_STEERING_ADDRESS},
		{"net_iavf", CONF_STEERING_ADDRESS},
		{"net_i40e", CONF_STEERING_ADDRESS},
		{"net_ixgbe", CONF_STEERING_AUTO},
		{"net_ixgbe_vf", CONF_STEERING_AUTO},
		{"net_igc", CONF_STEERING_OFF},
		{"net_ena", CONF_STEERING_OFF},
		{"net_virtio", CONF_STEERING_OFF},
		{"net_virtio_user", CONF_STEERING_OFF},
		{"net_af_packet", CONF_STEERING_OFF},
		{"net_af_xdp", CONF_STEERING_OFF},
		{"net_tap", CONF_STEERING_AUTO},
		{"vtap", CONF_STEERING_AUTO},
		{"packet", CONF_STEERING_AUTO},
	};
	struct conf_drivers *d = load(SOURCE_ROOT "/drivers-config");
	unsigned int names = 0;

	assert_int_equal(d->nb, 14);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct conf_driver *v = conf_driver_find(d, rows[i].name);

		if (v == NULL)
			fail_msg("no profile of %s", rows[i].name);
		assert_int_equal(v->steering, rows[i].steering);
		assert_non_null(v->tested);
		// no profile is tested on hardware yet: after a test, add its name here
		if (strcmp(rows[i].name, "net_af_packet") != 0 &&
			strcmp(rows[i].name, "net_tap") != 0 && strcmp(rows[i].name, "vtap") != 0 &&
			strcmp(rows[i].name, "packet") != 0 &&
			strcmp(rows[i].name, "net_virtio_user") != 0)
			assert_int_equal(strncmp(v->tested, "not run", 7), 0);
		assert_int_equal(v->interrupts,
			strcmp(rows[i].name, "net_tap") == 0 ||
				strcmp(rows[i].name, "net_virtio_user") == 0);
	}
	for (uint32_t i = 0; i < d->nb; i++)
		names += d->list[i].nb_names;
	assert_int_equal(names, sizeof(rows) / sizeof(rows[0]));
	assert_string_equal(conf_driver_find(d, "net_af_packet")->devargs, "framecnt=1024");
	conf_drivers_free(d);
}

// --- reading ------------------------------------------------------------------------------------

static void test_values(void **state)
{
	struct conf_drivers *d;
	const struct conf_driver *v;

	put("b.yaml", ICE);
	put("a.yaml",
		"drivers: [net_x, net_y]\ntested: \"a \\\"box\\\"\"\nrx-ring: 64\ntx-ring: 32768\n"
		"devargs: a=1,b_c-D=x:y/z\n");
	put("README.md", "no profile");
	put(".hidden.yaml", "nor this");
	put("yaml", "nor this");
	d = load(dir);
	assert_int_equal(d->nb, 2);
	assert_string_equal(d->dir, dir);
	v = conf_driver_find(d, "net_y");
	assert_ptr_equal(v, conf_driver_find(d, "net_x"));
	assert_ptr_equal(v, &d->list[0]); // by file name
	assert_int_equal(v->steering, CONF_STEERING_AUTO);
	assert_int_equal(v->rx_ring, 64);
	assert_int_equal(v->tx_ring, 32768);
	assert_false(v->interrupts);
	assert_string_equal(v->devargs, "a=1,b_c-D=x:y/z");
	assert_string_equal(v->tested, "a \"box\"");
	v = conf_driver_find(d, "net_ice");
	assert_int_equal(v->rx_ring, 0);
	assert_int_equal(v->tx_ring, 0);
	assert_null(v->devargs);
	assert_null(conf_driver_find(d, "net_ic"));
	assert_null(conf_driver_find(d, "net_ice0"));
	assert_null(conf_driver_find(NULL, "net_ice"));
	// the longest matching name, in any order
	assert_ptr_equal(conf_driver_of_device(d, "net_y1"), &d->list[0]);
	assert_ptr_equal(conf_driver_of_device(d, "net_ice1"), &d->list[1]);
	conf_drivers_free(d);
	put("c.yaml", "drivers: [net_i]\ntested: no\n");
	put("0.yaml", "drivers: [net_ic]\ntested: no\n");
	d = load(dir);
	assert_string_equal(conf_driver_of_device(d, "net_ice1")->names[0], "net_ice");
	assert_string_equal(conf_driver_of_device(d, "net_icd1")->names[0], "net_ic");
	assert_string_equal(conf_driver_of_device(d, "net_ia1")->names[0], "net_i");
	conf_drivers_free(d);
	take("c.yaml");
	take("0.yaml");
	for (const char *const *f = (const char *const[]){"a.yaml", "b.yaml", "README.md",
		     ".hidden.yaml", "yaml", NULL};
		*f != NULL; f++)
		take(*f);
	d = load(dir);
	assert_int_equal(d->nb, 0);
	conf_drivers_free(d);
}

static void test_device(void **state)
{
	struct conf_drivers *d = load(SOURCE_ROOT "/drivers-config");

	assert_ptr_equal(conf_driver_of_device(d, "net_af_packet0,iface=eth1"),
		conf_driver_find(d, "net_af_packet"));
	assert_ptr_equal(conf_driver_of_device(d, "net_af_packet_wan"),
		conf_driver_find(d, "net_af_packet"));
	assert_ptr_equal(
		conf_driver_of_device(d, "net_af_xdp7"), conf_driver_find(d, "net_af_xdp"));
	assert_ptr_equal(conf_driver_of_device(d, "net_virtio_user0,path=/dev/vhost-net"),
		conf_driver_find(d, "net_virtio_user"));
	assert_ptr_equal(conf_driver_of_device(d, "vtap:d0,netns=x"), conf_driver_find(d, "vtap"));
	assert_null(conf_driver_of_device(d, "0000:3b:00.0"));
	assert_null(conf_driver_of_device(d, "net_null0"));
	assert_null(conf_driver_of_device(d, "net_af,net_af_packet0"));
	assert_null(conf_driver_of_device(d, ""));
	assert_null(conf_driver_of_device(NULL, "net_af_packet0"));
	conf_drivers_free(d);
}

// --- errors -------------------------------------------------------------------------------------

// Text is refused as file two.yaml next to a good one.yaml, at this position and for this reason.
static void assert_refused(const char *text, const char *want)
{
	char path[64];
	struct conf_drivers *d;

	put("one.yaml", ICE);
	put("two.yaml", text);
	errno = 0;
	d = conf_drivers_load(dir, error);
	snprintf(path, sizeof(path), "%s/two.yaml:", dir);
	if (d != NULL)
		fail_msg("accepted, wanted: %s", want);
	assert_int_equal(errno, EINVAL);
	if (strncmp(error, path, strlen(path)) != 0 ||
		strncmp(error + strlen(path), want, strlen(want)) != 0)
		fail_msg("wanted: %s%s\n   got: %s", path, want, error);
	take("one.yaml");
	take("two.yaml");
}

#define GOOD "drivers: [net_x]\ntested: not run\n"

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"", "1:1: yaml: the file is empty"},
		{"- a\n", "1:1: yaml: the file must be a mapping of keys"},
		{"drivers: [net_x\n", "2:1: yaml: syntax"},
		{"drivers: [net_x]\n", "1:1: tested: missing"},
		{"tested: no\n", "1:1: drivers: missing"},
		{"drivers: net_x\ntested: no\n", "1:10: drivers: must be a list"},
		{"drivers: []\ntested: no\n", "1:10: drivers: must not be empty"},
		{"drivers: ['net x']\ntested: no\n", "1:11: drivers[0]: may hold only"},
		{GOOD "rx_ring: 512\n", "3:1: rx_ring: unknown key, did you mean 'rx-ring'?"},
		// keys of the configuration are unknown here
		{GOOD "ports: []\n",
			"3:1: ports: unknown key, known here: drivers tested steering "
			"rx-ring tx-ring devargs interrupts"},
		{GOOD "interrupts: 1\n", "3:13: interrupts: must be true or false"},
		{GOOD "rx-ring: 63\n", "3:10: rx-ring: 63 is out of range"},
		{GOOD "tx-ring: 32769\n", "3:10: tx-ring: 32769 is out of range"},
		{GOOD "tx-ring: many\n", "3:10: tx-ring: must be a decimal number"},
		{GOOD "steering: t3\n",
			"3:11: steering: 't3' is not one of: auto, address, port-bits, off"},
		{GOOD "steering: address\nsteering: address\n", "4:11: steering: given twice"},
		{GOOD "devargs: a\n", "3:10: devargs: must be key=value pairs"},
		{GOOD "devargs: a=\n", "3:10: devargs: must be key=value pairs"},
		{GOOD "devargs: =1\n", "3:10: devargs: must be key=value pairs"},
		{GOOD "devargs: a=1,\n", "3:10: devargs: must be key=value pairs"},
		{GOOD "devargs: ',a=1'\n", "3:10: devargs: must be key=value pairs"},
		{GOOD "devargs: a=1,,b=2\n", "3:10: devargs: must be key=value pairs"},
		{GOOD "devargs: a b=1\n", "3:10: devargs: must be key=value pairs"},
		{"drivers: [net_x, net_x]\ntested: no\n", "1:18: drivers[1]: "},
		{"drivers: [net_x, net_ice]\ntested: no\n", "1:18: drivers[1]: "},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(rows[i].text, rows[i].error);
	assert_non_null(strstr(error, "one.yaml has the driver 'net_ice' already: remove one"));
}

static void test_directories(void **state)
{
	char file[64];

	errno = 0;
	assert_null(conf_drivers_load("/nonexistent/drivers", error));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(error, "/nonexistent/drivers: driver profiles: No such file"));
	put("a.yaml", ICE);
	snprintf(file, sizeof(file), "%s/a.yaml", dir);
	assert_null(conf_drivers_load(file, error));
	assert_int_equal(errno, EINVAL);
	take("a.yaml");
	conf_drivers_free(NULL);
	// a directory is not a file
	snprintf(file, sizeof(file), "%s/d.yaml", dir);
	assert_int_equal(mkdir(file, 0700), 0);
	assert_null(conf_drivers_load(dir, error));
	assert_non_null(strstr(error, "d.yaml:1:1: file: cannot be read"));
	assert_int_equal(rmdir(file), 0);
}

static void test_too_many(void **state)
{
	char name[16], text[64];

	for (unsigned int n = 0; n < 257; n++) {
		snprintf(name, sizeof(name), "%u.yaml", n);
		snprintf(text, sizeof(text), "drivers: [net_%u]\ntested: not run\n", n);
		put(name, text);
	}
	assert_null(conf_drivers_load(dir, error));
	assert_non_null(strstr(error, "more than 256 files"));
	take("256.yaml");
	conf_drivers_free(load(dir));
	for (unsigned int n = 0; n < 256; n++) {
		snprintf(name, sizeof(name), "%u.yaml", n);
		take(name);
	}
}

// --- output -------------------------------------------------------------------------------------

static char *show(const struct conf_drivers *d, const struct conf *c, const char *name)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	conf_driver_show(out, d, c, name);
	fclose(out);
	return text;
}

static void assert_shown(
	const struct conf_drivers *d, const struct conf *c, const char *name, const char *want)
{
	char *text = show(d, c, name);

	assert_string_equal(text, want);
	free(text);
}

static void test_show(void **state)
{
	struct conf c = {.path = "main.yaml", .rx_ring = 512, .tx_ring = 256};
	struct conf_drivers *d;
	char want[1024];

	put("ice.yaml",
		"# first\ndrivers: [net_ice, net_ice_dcf]\ntested: 'a \"box\" \\'\nrx-ring: 2048\n"
		"devargs: a=1\nsteering: address\ninterrupts: true\n");
	d = load(dir);
	snprintf(want, sizeof(want),
		"drivers: [net_ice, net_ice_dcf] # %s/ice.yaml:2\n"
		"steering: address # %s/ice.yaml:6\n"
		"rx-ring: 2048 # %s/ice.yaml:4\n"
		"tx-ring: 1024 # default\n"
		"devargs: \"a=1\" # %s/ice.yaml:5\n"
		"interrupts: true # %s/ice.yaml:7\n"
		"tested: \"a \\\"box\\\" \\\\\" # %s/ice.yaml:3\n",
		dir, dir, dir, dir, dir, dir);
	// by driver, by device, by file
	assert_shown(d, NULL, "net_ice_dcf", want);
	assert_shown(d, NULL, "net_ice0,a=b", want);
	assert_shown(d, NULL, "ice", want);
	*strstr(want, "1024 # default\n") = '\0';
	snprintf(want + strlen(want), sizeof(want) - strlen(want),
		"256 # default\n"
		"devargs: \"a=1\" # %s/ice.yaml:5\n"
		"interrupts: true # %s/ice.yaml:7\n"
		"tested: \"a \\\"box\\\" \\\\\" # %s/ice.yaml:3\n",
		dir, dir, dir);
	assert_shown(d, &c, "ice", want);
	snprintf(want, sizeof(want),
		"# net_foo: no profile, so its ports use what the driver reports. Profiles in "
		"%s:\n# net_ice net_ice_dcf\ndrivers: [net_foo] # no profile\nsteering: auto # "
		"default\nrx-ring: 1024 # default\ntx-ring: 1024 # default\ndevargs: \"\" # "
		"default\ninterrupts: false # default\ntested: \"no profile\" # no profile\n",
		dir);
	assert_shown(d, NULL, "net_foo", want);
	conf_drivers_free(d);
	take("ice.yaml");
}

// The output for a driver is a profile of equal content, even for a driver without one.
static void test_round_trip(void **state)
{
	struct conf_drivers *d = load(SOURCE_ROOT "/drivers-config"), *again;

	for (uint32_t i = 0; i <= d->nb; i++) {
		const char *name = i < d->nb ? d->list[i].names[0] : "net_foo";
		const struct conf_driver *a = conf_driver_find(d, name), *b;
		char *text = show(d, NULL, name);

		put("again.yaml", text);
		free(text);
		again = load(dir);
		b = conf_driver_find(again, name);
		assert_non_null(b);
		assert_int_equal(b->steering, a != NULL ? a->steering : CONF_STEERING_AUTO);
		assert_int_equal(b->rx_ring, a != NULL && a->rx_ring != 0 ? a->rx_ring : 1024);
		assert_int_equal(b->tx_ring, a != NULL && a->tx_ring != 0 ? a->tx_ring : 1024);
		assert_string_equal(b->devargs, a != NULL && a->devargs != NULL ? a->devargs : "");
		conf_drivers_free(again);
	}
	take("again.yaml");
	conf_drivers_free(d);
}

static int dir_make(void **state)
{
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int dir_remove(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
