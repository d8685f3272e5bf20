// SPDX-License-Identifier: BSD-3-Clause
// The replay port measures; it does not reach a network. Receiving copies prepared frames into
// mbufs, as fast as the caller polls. Sending copies the frames into a scratch buffer. A polled
// driver over memory does the same (net_null with copy=1). So one core can be measured alone, with
// every byte copied in and out, and without a second process.
//
// Frames come from one or two templates and a table of patches of 16 bytes. Each receive takes the
// next patch, cyclically, and one of the templates at random. The templates stay in the first-level
// cache. Apart from them only the patch is read for a packet, and patches are read in sequence.
//
// The device is "replay:NAME[,queues=N][,checksums=verified]"; without queues it has one queue
// pair. With checksums=verified every received frame has the flags of a NIC that has verified both
// checksums; without, the receiver has to verify them. Each queue has its own frames. A queue
// without frames (as in an ordinary configuration) receives nothing and discards frames sent to it.
// Call all functions here except port_replay_open on the lcore that polls the queue, or on any
// other lcore while nobody polls it.
#pragma once

#include "port.h"

struct port_request;

#define PORT_REPLAY_FRAME_MAX 2048 // bytes of a template
#define PORT_REPLAY_PATCH_LEN 16
#define PORT_REPLAY_TEMPLATES 2
#define PORT_REPLAY_WINDOWS 4
#define PORT_REPLAY_KEEP 0xff // in a window: keeps this byte of the template
#define PORT_REPLAY_INJECT_MAX 256 // bytes of an injected frame
#define PORT_REPLAY_INJECT_FRAMES 32 // limit of waiting injected frames
#define PORT_REPLAY_FOREVER UINT64_MAX

// Sixteen bytes of a frame. Byte offset + i is the template's XOR byte patch_idx[i] of the patch.
// Where only the patch counts, the template has zero bytes.
struct port_replay_window {
	uint16_t offset;
	uint8_t patch_idx[16]; // 0..15, or PORT_REPLAY_KEEP
};

struct port_replay_template {
	uint8_t frame[PORT_REPLAY_FRAME_MAX]; // from the Ethernet header on
	uint16_t len;
	uint8_t nb_windows; // at least one; windows must not overlap, and must lie within the frame
	struct port_replay_window window[PORT_REPLAY_WINDOWS];
};

struct port_replay_frames {
	const struct port_replay_template *template; // the port copies them
	unsigned int nb_templates;
	// Patches in the order of their use. The caller owns them, and must not change them until
	// it sets other frames or the port is closed. Put them in hugepages for good results.
	const uint8_t (*patch)[PORT_REPLAY_PATCH_LEN];
	uint32_t nb_patches;
	uint64_t seed; // seed of the random choice of templates; equal seeds give equal frames
};

// Sets the frames of a queue, or removes them if f is NULL. The queue begins with the first patch,
// and receives nothing until port_replay_limit is called. Returns -EINVAL if p is not a replay
// port, has no such queue, or a count, length or window is out of range; -EMSGSIZE if a frame
// exceeds the MTU or the buffers. On an error the queue is unchanged.
int port_replay_set(struct port *p, uint16_t queue, const struct port_replay_frames *f);
// Makes a queue receive this many frames from now on, then none. Here and below, p must be a replay
// port with that queue.
void port_replay_limit(struct port *p, uint16_t queue, uint64_t frames);
// Builds the frame of a template and a patch as the port delivers it, for callers that compute or
// check checksums. Writes t->len bytes to buf.
void port_replay_frame(const struct port_replay_template *t,
	const uint8_t patch[PORT_REPLAY_PATCH_LEN], uint8_t *buf);

// Injects one frame (such as an ARP reply) to receive next, outside the limit. Waiting injected
// frames arrive in one burst, without frames of the templates. Returns -EMSGSIZE if the frame is
// longer than PORT_REPLAY_INJECT_MAX, -EBUSY while PORT_REPLAY_INJECT_FRAMES wait, or -ENOMEM.
int port_replay_inject(struct port *p, uint16_t queue, const void *frame, size_t len);

// Called with every frame received from the templates, and with every sent frame from the scratch
// buffer, on all queues. Use it only while one lcore polls all queues. It is slow: only for checks.
// NULL removes the function.
typedef void port_replay_tap(void *ctx, bool sent, const uint8_t *frame, size_t len);
void port_replay_watch(struct port *p, port_replay_tap *tap, void *ctx);

// Opens a replay port; called by port_open. NULL with the reason written. Management lcore.
struct port *port_replay_open(const struct port_request *r);
