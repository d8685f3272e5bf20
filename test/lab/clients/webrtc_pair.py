# SPDX-License-Identifier: BSD-3-Clause
"""Two WebRTC endpoints (aiortc) that may use only the relay, joined by a data channel.

test_webrtc.py runs this with the python of its virtual environment, in the client namespace:
webrtc_pair.py URL USER PASSWORD SECONDS. Prints the result; exits with 1 and the reason on failure.
The call lasts SECONDS longer, with an echo each second; 0 ends it at once.
"""

import asyncio
import sys

from aiortc import (
    RTCConfiguration,
    RTCIceServer,
    RTCIceTransportPolicy,
    RTCPeerConnection,
    RTCSessionDescription,
)

MESSAGES, LARGE = 300, 200_000


def candidates(description):
    """Types of the candidates in an SDP; all must be relay."""
    lines = [line for line in description.sdp.splitlines() if line.startswith("a=candidate")]
    return {line.split(" typ ")[1].split()[0] for line in lines}


async def connect(one, second):
    """Offer and answer. Both sides gather all candidates before they send."""
    await one.setLocalDescription(await one.createOffer())
    await second.setRemoteDescription(
        RTCSessionDescription(one.localDescription.sdp, one.localDescription.type)
    )
    await second.setLocalDescription(await second.createAnswer())
    await one.setRemoteDescription(
        RTCSessionDescription(second.localDescription.sdp, second.localDescription.type)
    )
    for side in (one, second):
        assert candidates(side.localDescription) == {"relay"}, side.localDescription.sdp


async def talk(channel, done):
    """Sends numbered messages and a large one, which the other side echoes."""
    for i in range(MESSAGES):
        channel.send(f"message {i}")
    channel.send("x" * LARGE)
    got = await asyncio.wait_for(done, 60)
    assert got == [f"message {i}" for i in range(MESSAGES)] + ["x" * LARGE], len(got)


async def stay(channel, seconds, got):
    """Keeps the call up for this time. Each second's message returns in time, on the channels that
    ICE selected."""
    for second in range(seconds):
        assert channel.readyState == "open", f"{channel.readyState} after {second} s"
        channel.send(f"second {second}")
        await asyncio.sleep(1)
    async with asyncio.timeout(5):
        while f"second {seconds - 1}" not in got:
            await asyncio.sleep(0.1)


async def main(url, user, password, seconds):
    server = RTCIceServer(urls=url, username=user, credential=password)
    config = RTCConfiguration([server], RTCIceTransportPolicy.RELAY)
    one, second = RTCPeerConnection(config), RTCPeerConnection(config)
    channel = one.createDataChannel("lab")
    loop = asyncio.get_running_loop()
    opened, done, got = loop.create_future(), loop.create_future(), []

    @channel.on("open")
    def _():
        opened.set_result(None)

    @channel.on("message")
    def _(message):
        got.append(message)
        if len(got) == MESSAGES + 1:
            done.set_result(got)

    @second.on("datachannel")
    def _(remote):
        remote.on("message", remote.send)

    await connect(one, second)
    await asyncio.wait_for(opened, 30)
    await talk(channel, done)
    if int(seconds):
        await stay(channel, int(seconds), got)
    print(f"{url}: {MESSAGES} messages and {LARGE} bytes each way over a data channel, relay only")
    await one.close()
    await second.close()


asyncio.run(main(*sys.argv[1:]))
