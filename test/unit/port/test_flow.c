// SPDX-License-Identifier: BSD-3-Clause
// Rules as rte_flow items, as a driver would get them: the test replaces DPDK's two calls.
#include <errno.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include "ethdev/flow.h"
#include "test.h"

static struct {
	uint16_t port;
	struct rte_flow_attr attr;
	const struct rte_flow_item *items;
	unsigned int nb_items;
	uint16_t queue;
	struct rte_flow *destroyed;
	struct rte_flow *give; // NULL: refuse
	int err;
	const char *says;
	void (*look)(const struct rte_flow_item *items); // called while the items are valid
} driver;

struct rte_flow *rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item items[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	driver.port = port;
	driver.attr = *attr;
	for (driver.nb_items = 0; items[driver.nb_items].type != RTE_FLOW_ITEM_TYPE_END;)
		driver.nb_items++;
	driver.look(items);
	assert_int_equal(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	driver.queue = ((const struct rte_flow_action_queue *)actions[0].conf)->index;
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	rte_errno = driver.err;
	error->message = driver.says;
	return driver.give;
}

int rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	assert_int_equal(port, 7);
	driver.destroyed = flow;
	error->message = driver.says;
	rte_errno = EBUSY;
	return -driver.err;
}

static struct port port = {.name = "wan", .driver = "net_test", .dpdk_id = 7};

static uint16_t vlan; // of the rule

static int make(const char *dst, uint16_t value, uint16_t mask, char reason[64])
{
	struct port_rule r = {.port = value, .mask = mask, .queue = 5, .vlan = vlan};
	void *flow = NULL;
	int rc;

	assert_int_equal(addr_parse(dst, &r.dst), 0);
	reason[0] = '\0';
	rc = port_flow_create(&port, &r, &flow, reason, 64);
	assert_ptr_equal(flow, driver.give);
	assert_int_equal(driver.port, 7);
	assert_true(driver.attr.ingress && !driver.attr.egress && !driver.attr.transfer);
	assert_int_equal(driver.attr.group, 0);
	assert_int_equal(driver.queue, 5);
	return rc;
}

static void assert_bytes(const void *got, size_t len, const char *want)
{
	assert_memory_equal(got, want, len);
}

static const struct rte_flow_item *check_item(
	const struct rte_flow_item *i, enum rte_flow_item_type type)
{
	assert_int_equal(i->type, type);
	assert_null(i->last);
	return i;
}

static void look_v4(const struct rte_flow_item *i)
{
	const struct rte_flow_item_ipv4 *spec = i[1].spec, *mask = i[1].mask;
	const struct rte_flow_item_ipv4 only = {.hdr.dst_addr = UINT32_MAX};

	assert_null(check_item(&i[0], RTE_FLOW_ITEM_TYPE_ETH)->spec);
	check_item(&i[1], RTE_FLOW_ITEM_TYPE_IPV4);
	assert_bytes(&spec->hdr.dst_addr, 4, "\xc0\x00\x02\x81");
	assert_memory_equal(mask, &only, sizeof(only)); // nothing else is matched
	assert_null(check_item(&i[2], RTE_FLOW_ITEM_TYPE_UDP)->spec);
	assert_null(i[2].mask);
	assert_int_equal(driver.nb_items, 3);
}

static void look_v6_vlan(const struct rte_flow_item *i)
{
	const struct rte_flow_item_vlan *tag = i[1].spec, *tag_mask = i[1].mask;
	const struct rte_flow_item_ipv6 *spec = i[2].spec, *mask = i[2].mask;
	const struct rte_flow_item_udp *udp = i[3].spec, *udp_mask = i[3].mask;
	struct rte_flow_item_ipv6 only = {0};
	struct rte_flow_item_udp ports = {0};

	check_item(&i[1], RTE_FLOW_ITEM_TYPE_VLAN);
	assert_bytes(&tag->tci, 2, "\x01\x02");
	assert_bytes(&tag_mask->tci, 2, "\x0f\xff");
	check_item(&i[2], RTE_FLOW_ITEM_TYPE_IPV6);
	assert_bytes(&spec->hdr.dst_addr, 16, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x81");
	memset(&only.hdr.dst_addr, 0xff, 16);
	assert_memory_equal(mask, &only, sizeof(only));
	check_item(&i[3], RTE_FLOW_ITEM_TYPE_UDP);
	assert_bytes(&udp->hdr.dst_port, 2, "\xc0\x40");
	ports.hdr.dst_port = RTE_BE16(0xc060);
	assert_memory_equal(udp_mask, &ports, sizeof(ports));
	assert_int_equal(driver.nb_items, 4);
}

static void test_accepted(void **state)
{
	char reason[64];

	driver.give = (struct rte_flow *)&driver;
	driver.look = look_v4;
	assert_int_equal(make("192.0.2.129", 0, 0, reason), 0);
	driver.look = look_v6_vlan;
	vlan = 0x102;
	assert_int_equal(make("2001:db8::81", 0xc040, 0xc060, reason), 0);
	vlan = 0;
	assert_string_equal(reason, "");
}

static void test_refused(void **state)
{
	char reason[64];

	driver.give = NULL;
	driver.look = look_v4;
	driver.err = ENOTSUP;
	driver.says = "mask not supported";
	assert_int_equal(make("192.0.2.129", 0, 0, reason), -ENOTSUP);
	assert_string_equal(reason, "net_test says mask not supported");
	driver.says = NULL;
	driver.err = ENOSPC;
	assert_int_equal(make("192.0.2.129", 0, 0, reason), -ENOSPC);
	assert_string_equal(reason, "net_test says No space left on device");
	driver.err = ENOSYS;
	assert_int_equal(make("192.0.2.129", 0, 0, reason), -ENOSYS);
	assert_string_equal(reason, "net_test does not support flow rules");
	driver.err = 0; // a driver that sets no error code
	assert_int_equal(make("192.0.2.129", 0, 0, reason), -EIO);
}

static void test_destroyed(void **state)
{
	driver.says = NULL;
	for (driver.err = 0; driver.err <= EBUSY; driver.err += EBUSY) {
		driver.destroyed = NULL;
		port_flow_destroy(&port, &driver);
		assert_ptr_equal(driver.destroyed, &driver);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
