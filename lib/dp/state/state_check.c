// SPDX-License-Identifier: BSD-3-Clause
// Checks the file of an area before a process uses it.
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "conf.h"
#include "dp_state.h"
#include "state/state_file.h"
#include "state/state_room.h"
#include "turn_relay_map.h"
#include "turn_state.h"

// Bytes of the area; 0 while it is unknown because addresses are.
static uint64_t area_size(const struct conf *c)
{
	struct turn_config t = c->turn;
	struct turn_relay_map *map;
	uint64_t size;

	if (conf_pending(c))
		return 0;
	if (t.workers == 0)
		t.workers = 1; // the number has little effect
	map = turn_relay_map_create(&t);
	if (map == NULL)
		return 0;
	size = turn_state_size(&t, map);
	turn_relay_map_free(map);
	return size;
}

void dp_state_room_text(uint64_t room, uint64_t size, char *text, size_t len)
{
	snprintf(text, len,
		"its file system has room for %" PRIu64 " MB, and a restart needs %" PRIu64
		" MB, twice an area of %" PRIu64
		" MB: %s: give it more (size= of tmpfs, hugepages), or take fewer relay.ports",
		room >> 20, 2 * size >> 20, size >> 20,
		room < size ? "no calls will be kept" : "the next start will keep no calls");
}

int dp_state_check(const struct conf *c, char *error, size_t len)
{
	struct state_file f;
	uint64_t room, size;

	if (state_file_look(&f, c->state.file, error, len) != 0)
		return -1;
	room = state_room(f.dir, f.name);
	close(f.dir);
	size = area_size(c);
	if (room / 2 >= size)
		return 0;
	dp_state_room_text(room, size, error, len);
	return 1;
}
