// SPDX-License-Identifier: BSD-3-Clause
// The replay port: an instrument, not a network. It copies prepared frames into mbufs as fast as
// they are asked for and copies what is sent into a scratch line, which is what a polled driver
// over memory does (net_null with copy=1). So one core can be measured alone, with every byte
// copied in and out, and without a second process.
//
// Frames come from one or two templates and a table of patches of 16 bytes: each receive takes the
// next patch, cyclically, and one of the templates, drawn at random. The templates stay in the
// first cache; all that is read for a packet beside them is its patch, and those in sequence.
//
// Device "replay:NAME[,queues=N][,checksums=verified]"; one queue each way without a word. With
// the last it says of every frame what a NIC says that has verified both checksums; without,
// whoever receives has to verify them. Each queue has frames of its own; one that nobody has given
// any (as in an ordinary configuration) receives nothing and swallows what it is sent. Everything
// here is for the lcore that polls the queue, or for any other while it is not polled.
#pragma once

#include "port.h"

#define PORT_REPLAY_FRAME_MAX 2048 // bytes of a template
#define PORT_REPLAY_PATCH_LEN 16
#define PORT_REPLAY_TEMPLATES 2
#define PORT_REPLAY_WINDOWS 4
#define PORT_REPLAY_KEEP 0xff // in a window: this byte of the template is left alone
#define PORT_REPLAY_INJECT_MAX 256 // bytes of an injected frame
#define PORT_REPLAY_INJECT_FRAMES 32 // that may wait
#define PORT_REPLAY_FOREVER UINT64_MAX

// Sixteen bytes of a frame: byte at + i is the template's XOR byte from[i] of the patch. Bytes in
// which only the patch is wanted are zero in the template.
struct port_replay_window {
	uint16_t at;
	uint8_t from[16]; // 0..15, or PORT_REPLAY_KEEP
};

struct port_replay_template {
	uint8_t frame[PORT_REPLAY_FRAME_MAX]; // from the Ethernet header on
	uint16_t len;
	uint8_t nb_windows; // at least one, none overlapping another, all within the frame
	struct port_replay_window window[PORT_REPLAY_WINDOWS];
};

struct port_replay_frames {
	const struct port_replay_template *template; // copied
	unsigned int nb_templates;
	// In the order in which they are taken. The caller's, and left alone, until other frames
	// are set or the port is closed. In hugepages if the figures are to be good.
	const uint8_t (*patch)[PORT_REPLAY_PATCH_LEN];
	uint32_t nb_patches;
	uint64_t seed; // of the random choice of templates; the same gives the same frames
};

// Gives a queue its frames; it then begins with the first patch, and receives nothing until it is
// told how many by port_replay_limit. NULL takes them away. -EINVAL when p is no replay port or has
// no such queue, or a count, length or window is out of range; -EMSGSIZE when a frame exceeds the
// MTU or the buffers. The queue is unchanged then.
int port_replay_set(struct port *p, uint16_t queue, const struct port_replay_frames *f);
// From now on this many frames are received, then none. p is a replay port and has the queue, here
// and below.
void port_replay_limit(struct port *p, uint16_t queue, uint64_t frames);
// The frame that one template and one patch make: what the port delivers, for whoever computes
// checksums or checks. buf has room for len bytes, which are all written.
void port_replay_frame(const struct port_replay_template *t,
	const uint8_t patch[PORT_REPLAY_PATCH_LEN], uint8_t *buf);

// One frame (an ARP answer, say) to be received next, outside the limit, in a burst with others
// that were injected before it and still wait, and with none of the templates'. -EMSGSIZE when it
// is longer than PORT_REPLAY_INJECT_MAX, -EBUSY while PORT_REPLAY_INJECT_FRAMES wait, -ENOMEM.
int port_replay_inject(struct port *p, uint16_t queue, const void *frame, size_t len);

// Called with every frame that is received from the templates, and with every frame sent as it
// stands in the scratch line, of all queues: while one lcore polls them all. Slow: for checks. NULL
// ends it.
typedef void port_replay_tap(void *ctx, bool sent, const uint8_t *frame, size_t len);
void port_replay_watch(struct port *p, port_replay_tap *tap, void *ctx);
