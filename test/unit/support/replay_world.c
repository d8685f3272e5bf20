// SPDX-License-Identifier: BSD-3-Clause
// EAL, a small pool and replay ports, for tests of the replay port and of the frames it replays.
#include "replay_world.h"
#include "test.h"

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "replay.h"

struct rte_mempool *replay_world_pool;

struct port *replay_world_open(const char *device)
{
	const struct port_config c = {.name = "bench",
		.device = device,
		.queues = 4,
		.mtu = 1500,
		.rx_ring = 256,
		.tx_ring = 256,
		.pool = replay_world_pool,
		.socket = SOCKET_ID_ANY};
	char error[256] = "";
	struct port *p = port_open(&c, error, sizeof(error));

	if (p == NULL)
		fail_msg("%s", error);
	assert_int_equal(p->ops->start(p), 0);
	return p;
}

void replay_world_close(struct port *p)
{
	p->ops->stop(p);
	p->ops->close(p);
	assert_int_equal(rte_mempool_in_use_count(replay_world_pool), 0);
}

int replay_world_start(char *prefix)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", prefix, "--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	replay_world_pool = rte_pktmbuf_pool_create("test", REPLAY_WORLD_POOL, 0, 0,
		RTE_PKTMBUF_HEADROOM + PORT_REPLAY_FRAME_MAX, SOCKET_ID_ANY);
	return replay_world_pool == NULL ? -1 : 0;
}

int replay_world_stop(void **state)
{
	rte_mempool_free(replay_world_pool);
	rte_eal_cleanup();
	return 0;
}
