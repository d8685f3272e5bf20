// SPDX-License-Identifier: BSD-3-Clause
// Effects of driver profiles on the ports of a data path: rings, devargs, and which setting wins.
#include "datapath.h"
#include "dp_memory.h"
#include "dp_world.h"
#include "conf_drivers.h"

static struct dp_world world;
static struct conf_driver list[2];
static char *names[2][1] = {{"net_x"}, {"net_y"}};
static struct conf_drivers drivers = {.dir = "dir", .list = list, .nb = 2};

// Settings with which the data path opened a port; the port is then refused.
static struct {
	char devargs[64];
	uint16_t rx_ring, tx_ring; // configured rings
	struct port_profile by_driver; // of net_x
} asked;

static struct port *opener(const struct port_config *c, char *error, size_t len)
{
	snprintf(asked.devargs, sizeof(asked.devargs), "%s", c->devargs != NULL ? c->devargs : "-");
	asked.rx_ring = c->rx_ring;
	asked.tx_ring = c->tx_ring;
	c->by_driver(c->ctx, "net_x", &asked.by_driver);
	snprintf(error, len, "seen");
	return NULL;
}

// Opens the world's configuration with a port of this device, and profiles.
static void ask(const char *device, const struct conf_drivers *d)
{
	const unsigned int lcores[4] = {1, 2, 1, 2};
	struct conf c = world.conf;
	struct conf_port port = world.ports[0];
	char error[64] = "";

	port.device = (char *)device;
	c.ports = &port;
	c.drivers = (struct conf_drivers *)d;
	assert_null(dp_create(&c, lcores, opener, error, sizeof(error)));
	assert_string_equal(error, "seen");
}

static int setup(void **state)
{
	const struct world_setup s = {.workers = 4, .rx_queues = 1, .tx_queues = 1};

	world_open(&world, &s); // pool of 8191, rings of 512
	assert_null(dp_profile(world.dp, 0));
	world_close(&world);
	for (unsigned int i = 0; i < 2; i++)
		list[i] = (struct conf_driver){.path = "x.yaml", .names = names[i], .nb_names = 1};
	memset(&asked, 0, sizeof(asked));
	return 0;
}

static void test_none(void **state)
{
	ask("net_x0", NULL);
	assert_string_equal(asked.devargs, "-");
	assert_int_equal(asked.rx_ring + asked.tx_ring, 0);
	assert_int_equal(asked.by_driver.rx_ring, 512);
	assert_int_equal(asked.by_driver.tx_ring, 512);
	ask("net_x0", &drivers); // a profile without settings
	assert_string_equal(asked.devargs, "-");
	assert_int_equal(asked.by_driver.rx_ring, 512);
	assert_int_equal(asked.by_driver.tx_ring, 512);
}

static void test_rings(void **state)
{
	list[0].rx_ring = 1024;
	list[0].tx_ring = 64;
	list[1].rx_ring = 128; // for another driver
	ask("net_x0", &drivers);
	assert_int_equal(asked.by_driver.rx_ring, 1024);
	assert_int_equal(asked.by_driver.tx_ring, 64);
	list[0].tx_ring = 0;
	ask("0000:3b:00.0", &drivers); // the driver is known only when it is open
	assert_int_equal(asked.by_driver.rx_ring, 1024);
	assert_int_equal(asked.by_driver.tx_ring, 512);
}

// 4 workers and 8191 buffers: 2047 descriptors for both rings of a queue.
static void test_rings_and_pool(void **state)
{
	list[0].rx_ring = 2047 - 512;
	ask("net_x0", &drivers);
	assert_int_equal(asked.by_driver.rx_ring, 2047 - 512);
	list[0].rx_ring++;
	ask("net_x0", &drivers);
	assert_int_equal(asked.by_driver.rx_ring, 512);
	assert_int_equal(asked.by_driver.tx_ring, 512);
	list[0].rx_ring = 1024;
	list[0].tx_ring = 1024;
	ask("net_x0", &drivers);
	assert_int_equal(asked.by_driver.rx_ring, 1024);
	assert_int_equal(asked.by_driver.tx_ring, 512);
}

static void test_devargs(void **state)
{
	list[0].devargs = "a=1";
	list[1].devargs = "b=2";
	ask("net_x0,c=3", &drivers);
	assert_string_equal(asked.devargs, "a=1");
	ask("net_y", &drivers);
	assert_string_equal(asked.devargs, "b=2");
	ask("net_z0", &drivers);
	assert_string_equal(asked.devargs, "-");
	ask("0000:3b:00.0", &drivers);
	assert_string_equal(asked.devargs, "-");
}

// A port's profile is that of its actual driver.
static void test_profile(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const unsigned int lcore = 1;
	char error[256] = "";
	struct dp *d;

	names[0][0] = "soft";
	world_open(&world, &s);
	world_close(&world);
	world.conf.drivers = &drivers;
	d = dp_create(&world.conf, &lcore, softport_open, error, sizeof(error));
	assert_non_null(d);
	assert_ptr_equal(dp_profile(d, 0), &list[0]);
	dp_quiesce(d);
	dp_destroy(d);
	names[0][0] = "net_x";
}

static void test_memory(void **state)
{
	struct conf c = world.conf;
	const size_t before = dp_memory_mb(&c);

	c.drivers = &drivers;
	assert_int_equal(dp_memory_mb(&c), before);
	list[1].rx_ring = 32768; // 4 workers x 32256 more descriptors of 64 bytes: 7.9 MB
	assert_in_range(dp_memory_mb(&c), before + 7, before + 10);
}

// A buffer is longer than half a page, and no buffer crosses a page boundary.
static void test_memory_in_normal_pages(void **state)
{
	struct conf c = world.conf;

	c.mbufs = 131072;
	assert_in_range(
		dp_memory_normal_mb(&c), 512 + dp_memory_mb(&c) - 131072 * 2560 / 1048576, 700);
	assert_true(dp_memory_mb(&c) < 512);
}

#define WITH_WORLD(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_none),
		WITH_WORLD(test_rings),
		WITH_WORLD(test_rings_and_pool),
		WITH_WORLD(test_devargs),
		WITH_WORLD(test_memory_in_normal_pages),
		WITH_WORLD(test_profile),
		WITH_WORLD(test_memory),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
