// SPDX-License-Identifier: BSD-3-Clause
// The replay port: an instrument, not a network. Receiving copies prepared frames into mbufs, as
// fast as the caller asks. Sending copies the frames into a scratch line. That is what a polled
// driver over memory does (net_null with copy=1). So one core can be measured alone, with every
// byte copied in and out, and without a second process.
//
// Frames come from one or two templates and a table of patches of 16 bytes. Each receive takes the
// next patch, cyclically, and one of the templates, drawn at random. The templates stay in the
// first-level cache. The patch is all else that is read for a packet, and patches are read in
// sequence.
//
// The device is "replay:NAME[,queues=N][,checksums=verified]"; without queues it has one queue each
// way. With checksums=verified it says of every frame what a NIC says that has verified both
// checksums; without, the receiver has to verify them. Each queue has frames of its own. A queue
// without frames (as in an ordinary configuration) receives nothing and swallows what it is sent.
// Call all functions here except port_replay_open on the lcore that polls the queue, or on any
// other while nobody polls it.
#pragma once

#include "port.h"

struct port_request;

#define PORT_REPLAY_FRAME_MAX 2048 // bytes of a template
#define PORT_REPLAY_PATCH_LEN 16
#define PORT_REPLAY_TEMPLATES 2
#define PORT_REPLAY_WINDOWS 4
#define PORT_REPLAY_KEEP 0xff // in a window: leaves this byte of the template alone
#define PORT_REPLAY_INJECT_MAX 256 // bytes of an injected frame
#define PORT_REPLAY_INJECT_FRAMES 32 // injected frames that may wait
#define PORT_REPLAY_FOREVER UINT64_MAX

// Sixteen bytes of a frame. Byte at + i is the template's XOR byte from[i] of the patch. Where only
// the patch is wanted, the template has zero bytes.
struct port_replay_window {
	uint16_t offset;
	uint8_t patch_idx[16]; // 0..15, or PORT_REPLAY_KEEP
};

struct port_replay_template {
	uint8_t frame[PORT_REPLAY_FRAME_MAX]; // from the Ethernet header on
	uint16_t len;
	uint8_t nb_windows; // at least one; none overlaps another; all lie within the frame
	struct port_replay_window window[PORT_REPLAY_WINDOWS];
};

struct port_replay_frames {
	const struct port_replay_template *template; // the port copies them
	unsigned int nb_templates;
	// Patches in the order in which they are taken. The caller owns them and leaves them alone
	// until other frames are set or the port is closed. Good figures need them in hugepages.
	const uint8_t (*patch)[PORT_REPLAY_PATCH_LEN];
	uint32_t nb_patches;
	uint64_t seed; // of the random choice of templates; the same gives the same frames
};

// Gives a queue its frames; f NULL takes them away. The queue begins with the first patch, and
// receives nothing until port_replay_limit says how many. -EINVAL when p is no replay port, has no
// such queue, or a count, length or window is out of range. -EMSGSIZE when a frame exceeds the MTU
// or the buffers. On an error the queue is unchanged.
int port_replay_set(struct port *p, uint16_t queue, const struct port_replay_frames *f);
// Makes a queue receive this many frames from now on, then none. Here and below, p must be a replay
// port and have the queue.
void port_replay_limit(struct port *p, uint16_t queue, uint64_t frames);
// Builds the frame that one template and one patch make, as the port delivers it, for callers that
// compute or check checksums. buf has room for len bytes of the template; all are written.
void port_replay_frame(const struct port_replay_template *t,
	const uint8_t patch[PORT_REPLAY_PATCH_LEN], uint8_t *buf);

// Injects one frame (an ARP answer, say) to be received next, outside the limit. Injected frames
// that wait come together in one burst, without any frame of the templates. -EMSGSIZE when the
// frame is longer than PORT_REPLAY_INJECT_MAX, -EBUSY while PORT_REPLAY_INJECT_FRAMES wait,
// -ENOMEM.
int port_replay_inject(struct port *p, uint16_t queue, const void *frame, size_t len);

// Called with every frame received from the templates, and with every frame sent as it stands in
// the scratch line, on all queues. Use it only while one lcore polls them all. It is slow: for
// checks. tap NULL ends it.
typedef void port_replay_tap(void *ctx, bool sent, const uint8_t *frame, size_t len);
void port_replay_watch(struct port *p, port_replay_tap *tap, void *ctx);

// Opens a replay port; port_open calls it. NULL with the reason written. Management lcore.
struct port *port_replay_open(const struct port_request *r);
