# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of each field of slipring's telemetry: name, type, labels and HELP of its metric.

A table has a line for each field: the field, c (counter) or g (gauge), the metric without
"slipring_", and what it is. A metric may have labels: NAME{label=value}. "-" leaves a field out: it
is a text, or told by another metric. The text "." is what slipring itself says of the field
(/slipring/meanings), or for further values of a label that of the first.
"""

import re
from typing import NamedTuple


class Row(NamedTuple):
    kind: str  # c, g or -
    name: str
    labels: tuple  # of pairs
    text: str


def table(text):
    rows = {}
    for line in text.strip().splitlines():
        field, kind, *rest = line.split(None, 3)
        name, text = (*rest, "", "")[:2]
        found = re.fullmatch(r"(\w*)(?:{(\w+)=([\w-]+)})?", name)
        labels = ((found[2], found[3]),) if found[2] else ()
        if labels and text == ".":
            text = next(row.text for row in rows.values() if row.name == found[1])
        rows[field] = Row(kind, found[1], labels, text)
    return rows


# All workers together, and one of them (as slipring_worker_...)
STATS = table("""
rx                    c rx_datagrams         Datagrams received, as they are on the wire.
tx                    c tx_datagrams         Datagrams sent, as they are on the wire.
rx_bytes              c rx_bytes             Bytes of the frames received.
tx_bytes              c tx_bytes             Bytes of the frames sent.
drops                 c dropped_datagrams    Datagrams dropped, for whatever reason.
made                  c made_datagrams       Datagrams made here: answers, fragments, neighbour questions.
consumed              c consumed_datagrams   Datagrams that ended here as they should: requests, ARP, fragments.
held                  g held_datagrams       Datagrams that wait for a neighbour or for their other fragments.
handed_in             c handed_in_datagrams  Datagrams taken from other workers.
handed_out            c handed_out_datagrams Datagrams given to other workers.
fragments_in          c fragments_received   Fragments kept until their datagram is whole.
reassembled           c reassembled_datagrams Datagrams made of fragments.
fragments_out         c fragments_sent       Fragments made for sending.
allocations           g allocations          Live allocations.
allocations_total     c allocations_made     Allocations made.
permissions           g permissions          Live permissions.
channels              g channels             Live channels.
endpoints             g shared_peers         Peers registered on shared relay ports.
redirects             g redirects            Notes that a client's allocation lives on another worker.
relay_ports_ipv4      g relay_ports{family=ipv4}      Relay ports that there are; none where ports are shared.
relay_ports_ipv6      g relay_ports{family=ipv6}      .
relay_ports_free_ipv4 g relay_ports_free{family=ipv4} Relay ports that no allocation has; those that rest are among them.
relay_ports_free_ipv6 g relay_ports_free{family=ipv6} .
auth_failures         c auth_failures        Requests whose credentials were wrong.
port_reused_early     c ports_reused_early   Relay ports given out again before relay.quarantine has passed.
pool_refused          c pool_refusals        Permissions, channels and peers refused: no room in pool or share.
half_family           c half_family          Allocates for both families given one: no address of the other.
half_capacity         c half_capacity        Allocates for both families given one: no room for the other.
moves                 c moves                Clients that have moved to another 5-tuple by a ticket.
moves_lapsed          c moves_lapsed         Moves that no client has completed in time.
outlived              c outlived_connections Allocations with a ticket that have outlived their client's connection.
unreachable           c unreachable_refusals Requests refused because no route leads to their peer.
relay_lost            c relay_lost_refusals  Allocations refused because the network has taken the relay addresses.
icmp_errors_sent      c icmp_errors_sent     ICMP errors sent.
icmp_errors_held_back c icmp_errors_held_back ICMP errors not sent: past icmp.errors-out or icmp.errors-out-each.
path_mtus             c path_mtus_learnt     Paths whose MTU was found to be less than what was known.
path_mtus_refused     c path_mtus_refused    Paths whose MTU was not learnt, as their user has had too many new ones.
events_lost           c events_lost          Events for the log that found their ring full.
session_events_lost   c session_events_lost  Events of sessions that found their ring full.
buffers               g buffers              Packet buffers that there are (buffers.mbufs).
buffers_free          g buffers_free         Packet buffers that nobody has.
""")
# One worker only
WORKER = table("""
lcore         g lcore              The lcore of the worker.
busy_cycles   c busy_cycles        CPU cycles (TSC) spent on rounds that found something to do.
total_cycles  c cycles             CPU cycles (TSC) in all.
sleep_cost_ns g sleep_cost_seconds CPU time of one sleep of late; 0 when none was measured.
waits         c waits              Times that the worker has blocked until something came or was due.
woken_by_port c woken_by_port      Of these, ended by a frame at a port.
woken_by_kick c woken_by_kick      Of these, ended by another worker or thread, or by a question.
woken_by_time c woken_by_time      Of these, ended by what was due by time.
rx_bursts     -
rx_empty      -
uso_frames    -
uso_segments  -
whole_frames  -
rx_hist       -
tx_hist       -
""")
SCALES = {"sleep_cost_ns": 1e-9, "away_ms": 1e-3, "took_ms": 1e-3}
# Bursts of one worker; metrics.py takes classes and histograms apart
BURSTS = table("""
rx_empty     c empty_polls      Polls of a queue that found nothing.
tx_short     c tx_short_bursts  Bursts of which a port did not take all at once.
tx_retried   c tx_retries       Times the rest of such a burst was offered again.
uso_frames   c uso_frames       Super-frames sent.
uso_segments c uso_datagrams    Datagrams sent in super-frames.
whole_frames c whole_frames     Super-frames received whole and sent whole.
polls        -
rx_bursts    -
rx           -
tx           -
handed_in    -
no_mbuf      -
tx_full      -
rx_average   -
uso_fraction -
classes      -
rx_hist      -
tx_hist      -
hand_hist    -
""")
PORT = table("""
name      -
kind      -
driver    -
mac       -
on        -
offloads  -
members   -
link      g link_up        1 when the link is up.
trouble   g trouble        1 when something else keeps the port from its work; status says what.
mtu       g mtu_bytes      MTU of the port.
vlan      g vlan           VLAN id of the port; 0 = untagged.
rx_queues g rx_queues      Receive queues.
tx_queues g tx_queues      Transmit queues.
rx_ring   g rx_ring_slots  Descriptors of a receive queue.
tx_ring   g tx_ring_slots  Descriptors of a transmit queue.
rss       g rss            1 when the NIC spreads packets over the queues.
rx_missed c rx_missed      Frames lost because nobody fetched them in time.
rx_errors c rx_errors      Frames that arrived damaged.
rx_nombuf c rx_no_mbuf     Times a receive queue found no packet buffer.
tx_errors c tx_errors      Frames that the port could not send.
tx_cut    c tx_cut_frames  Super-frames that had to be cut by us.
""")
STEERING = table("""
port        -
family      -
step        -
why         -
rules       g rules                  Rules in the NIC.
hits        c home_datagrams         Datagrams of peers that came in on their worker's queue.
handed_over c handed_over_datagrams  Datagrams of peers that came in on another worker's queue.
degraded    g degraded               1 when rules are in use and packets come in elsewhere all the same.
""")
TO, FROM = "to_kernel_datagrams", "from_kernel_datagrams"
EXCEPTION = table(f"""
port      -
interface -
netns     -
offloads  -
link      g link_up      1 when the interface of the exception port is up.
trouble   g trouble      1 when something keeps the exception port from its work; status says what.
to_kernel_tcp    c {TO}{{class=tcp}}    Datagrams given to the kernel.
to_kernel_udp    c {TO}{{class=udp}}    .
to_kernel_icmp   c {TO}{{class=icmp}}   .
to_kernel_arp    c {TO}{{class=arp}}    .
to_kernel_nd     c {TO}{{class=nd}}     .
from_kernel_tcp  c {FROM}{{class=tcp}}  Datagrams taken from the kernel.
from_kernel_udp  c {FROM}{{class=udp}}  .
from_kernel_icmp c {FROM}{{class=icmp}} .
from_kernel_arp  c {FROM}{{class=arp}}  .
from_kernel_nd   c {FROM}{{class=nd}}   .
to_kernel_super_frames     c to_kernel_super_frames     Super-frames of TCP given to the kernel.
to_kernel_super_segments   c to_kernel_super_segments   Segments in them.
from_kernel_super_frames   c from_kernel_super_frames   Super-frames of TCP taken from the kernel.
from_kernel_super_segments c from_kernel_super_segments Segments in them.
to_kernel_denied     c to_kernel_denied     Datagrams for the kernel that exception.allow does not name.
to_kernel_rate       c to_kernel_rate       Datagrams for the kernel past exception.rate, or faster than it takes them.
to_kernel_lost       c to_kernel_lost       Datagrams given to the kernel, which did not take them.
from_kernel_foreign  c from_kernel_foreign  Datagrams of the kernel with an address or of a kind that is not its own.
from_kernel_answered c from_kernel_answered Answers of the kernel to ARP and ND that the data path answers.
from_kernel_cut      c from_kernel_cut      Super-frames of the kernel that had to be cut by us.
from_kernel_missed   c from_kernel_missed   Datagrams that the kernel could not queue, since nobody read them in time.
""")
REFUSED, CLOSED, PROXY = "refused", "closed", "proxy_refused"
STREAMS = table(f"""
connections      g connections           Connections that are open.
tls              g tls_connections       Connections that are open, with TLS.
accepted         c accepted              Connections in all, without those refused.
refused_total    c {REFUSED}{{limit=total}}   Connections refused, by the limit that they met.
refused_source   c {REFUSED}{{limit=source}}  .
refused_network  c {REFUSED}{{limit=network}} .
refused_rate     c {REFUSED}{{limit=rate}}    .
refused_files    c {REFUSED}{{limit=files}}   .
refused_proxy    c {PROXY}{{reason=source}}   Connections to listeners for balancers that came to nothing, and why.
proxy_none       c {PROXY}{{reason=none}}     .
proxy_bad        c {PROXY}{{reason=bad}}      .
proxy_long       c {PROXY}{{reason=long}}     .
proxy_slow       c {PROXY}{{reason=slow}}     .
proxy_gave_way   c {PROXY}{{reason=gave_way}} .
proxy_taken      c {PROXY}{{reason=taken}}    .
proxy_closed     c {PROXY}{{reason=closed}}   .
proxy_own        c proxy_own             Connections that balancers have made for themselves.
handshakes       c handshakes            .
handshake_failed c {CLOSED}{{reason=handshake_failed}} Connections closed, and why.
slow             c {CLOSED}{{reason=slow}}     .
gave_way         c {CLOSED}{{reason=gave_way}} .
idle             c {CLOSED}{{reason=idle}}     .
garbage          c {CLOSED}{{reason=garbage}}  .
rekeys           c {CLOSED}{{reason=rekeys}}   .
failed           c {CLOSED}{{reason=failed}}   .
closed           c {CLOSED}{{reason=closed}}   .
rx               c rx_messages           .
tx               c tx_messages           .
rx_bytes         c rx_bytes              Bytes received, TLS taken off.
tx_bytes         c tx_bytes              Bytes written, before TLS.
writes           c writes                Writes: those of one time left together.
oversize         c oversize_messages     .
queue_full       c queue_full_messages   .
untold           c untold_refusals       .
late             c late_messages         .
stalled          c stalls                .
dtls_sessions    g dtls_sessions         .
dtls_handshakes  -
dtls_failed      -
dtls_refused_total   -
dtls_refused_source  -
dtls_refused_network -
dtls_overrun     -
relay_ports       g relay_ports           Ports of TCP allocations that are open.
relay_connections g relay_connections     Connections with peers that are open.
relay_connected   c relay_connections_made{{by=client}} Connections with peers that were made, and by whom.
relay_accepted    c relay_connections_made{{by=peer}}   .
relay_bound       c relay_bound           Connections with peers that a client has bound.
relay_failed      c relay_refused{{reason=failed}}    Connects and connections of peers that came to nothing, and why.
relay_refused     c relay_refused{{reason=limit}}     .
relay_hasty       c relay_refused{{reason=rate}}      .
relay_strangers   c relay_refused{{reason=permission}} .
relay_full        c relay_refused{{reason=full}}      .
relay_files       c relay_refused{{reason=files}}     .
relay_unbound     c relay_refused{{reason=unbound}}   .
relay_denied      c relay_refused{{reason=denied}}    .
relay_unknown     c relay_refused{{reason=unknown}}   .
relay_unopened    c relay_refused{{reason=port}}      .
relay_held        c relay_held            Times that bytes waited for limits.rates.
relay_to_peers    c relay_bytes{{to=peer}}    Bytes relayed over TCP.
relay_to_clients  c relay_bytes{{to=client}}  .
""")
DTLS = table(f"""
open              g sessions              Sessions whose handshake is complete.
half_open         g handshakes_under_way  Handshakes under way.
verify            c hello_verify_requests .
gave_way          c handshakes_given_up   .
opened            c sessions_made         Sessions in all.
replaced          c ended{{reason=replaced}} Sessions ended, and why.
closed            c ended{{reason=closed}}   .
failed            c ended{{reason=failed}}   .
idle              c ended{{reason=idle}}     .
rx                c rx_messages           .
tx                c tx_messages           .
again             c handshake_repeats     .
unsealed          c unsealed_records      .
handshakes        c handshakes            DTLS handshakes completed.
handshake_failed  c handshakes_failed     DTLS handshakes given up: failed, or past dtls.handshake.
refused_total     c {REFUSED}{{limit=total}}   DTLS handshakes refused, by the limit that they met.
refused_source    c {REFUSED}{{limit=source}}  .
refused_network   c {REFUSED}{{limit=network}} .
handshake_overrun c handshake_overruns    Datagrams of DTLS handshakes dropped: too many waited.
""")
CONFIG = table("""
path                 -
realm                -
idle                 -
relay_mode           -
workers              -
ports                g ports                 Ports.
listeners            g listeners             Listeners.
relay_addresses      g relay_addresses       Relay addresses.
relay_pools          g relay_pools           Pools of relay addresses.
external_addresses   g external_addresses    Addresses with an external one.
routes               g routes                Routes of all ports.
relay_port_low       g relay_port_low        First relay port.
relay_port_high      g relay_port_high       Last relay port.
quarantine           g quarantine_seconds    How long a relay port rests (relay.quarantine).
realms               g realms                Realms.
users                g users                 Users of auth.realm.
secrets              g secrets               Secrets of REST names; how many, nothing else.
token_keys           g token_keys            Keys of access tokens of auth.realm.
nonce_lifetime       g nonce_lifetime_seconds How long a nonce is taken.
hairpin              g hairpin               1 when peers may be own relay addresses.
allow                g peer_rules{list=allow} Rules of peers.allow and peers.deny.
deny                 g peer_rules{list=deny}  .
limit_allocations    g limit_allocations     limits.allocations.
limit_per_user       g limit_per_user        limits.per-user; 0 = no limit.
limit_per_source     g limit_per_source      limits.per-source; 0 = no limit.
limit_connections    g limit_connections     streams.connections.
limit_sessions       g limit_sessions        dtls.sessions.
lifetime_default     g lifetime_default_seconds Lifetime of an allocation whose client asks for none.
lifetime_max         g lifetime_max_seconds  Longest lifetime of an allocation.
unauthenticated_rate g limit_unauthenticated_per_second limits.unauthenticated; 0 = no limit.
stale_nonce_rate     g limit_stale_nonce_per_second Answers 438 a source may get in a second; 0 = no limit.
guess_rate           g limit_guesses_per_second limits.guesses; 0 = no limit.
binding_rate         g limit_binding_per_second limits.binding; 0 = no limit.
""")
REALM = table("""
realm             -
allocations       g realm_allocations      Live allocations.
allocations_total c realm_allocations_made Allocations made.
rx                c realm_datagrams{from=client} Datagrams relayed, by who sent them.
tx                c realm_datagrams{from=peers}  .
rx_bytes          c realm_bytes{from=client}     Bytes of data relayed, without headers, by who sent them.
tx_bytes          c realm_bytes{from=peers}      .
lost_permission   c realm_lost_datagrams{class=permission} Datagrams of allocations dropped, by class.
lost_size         c realm_lost_datagrams{class=size}       .
lost_way          c realm_lost_datagrams{class=way}        .
lost_limit        c realm_lost_datagrams{class=limit}      .
lost_other        c realm_lost_datagrams{class=other}      .
lost_allocation_rate c realm_lost_datagrams{class=allocation_rate} .
lost_user_rate       c realm_lost_datagrams{class=user_rate}       .
lost_realm_rate      c realm_lost_datagrams{class=realm_rate}      .
""")
# Histograms: (their fields begin with this, unit in these names, metric, its scale, of each worker)
HISTOGRAMS = (
    ("time", "_ns", "datagram_seconds", 1e-9, True,
        "Time from receiving a datagram until what became of it was sent, of one in 1,024."),
    ("lifetime", "_s", "allocation_lifetime_seconds", 1, False,
        "Lifetimes of allocations that have ended."),
    ("bytes", "", "allocation_bytes", 1, False,
        "Bytes of data, of both directions, of allocations that have ended."),
)  # fmt: skip
RECORDS = table("""
written c written       Records of sessions written.
lost    c lost          Records of sessions lost.
unsent  c unsent        Records of sessions that could not be sent.
waiting g waiting       Records of sessions that wait to be written.
""")
AREAS = "start config ports addresses streams auth sessions workers dpdk control".split()
LOG = table("\n".join((
    "lost c lost Lines that who reads standard error, journald or syslog did not take.",
    *(f"{area}_level -" for area in AREAS),
    *(f"{area}_lines c lines{{area={area}}} Lines written, by their area." for area in AREAS),
    *(f"{area}_suppressed c suppressed{{area={area}}} Lines left out, past log.rate." for area in AREAS),
)))  # fmt: skip
# The state area: all of it is of the start
STATE = table("""
start        -
why          -
version      -
kept         g state_kept         1: a restart keeps the calls of this process; 0: there was no room for its area.
bytes        g state_bytes        Size of the state area.
bytes_each   g state_bytes_each   Of that, for each allocation that can exist.
away_ms      g state_away_seconds Time from when the last process was there until its calls were taken up.
took_ms      g state_took_seconds How long taking up calls took.
deaths       g state_deaths       Processes in a row before this one that have died within a minute of their start.
allocations  g state_allocations  Allocations taken up at the start.
permissions  g state_permissions  Permissions taken up at the start.
channels     g state_channels     Channels taken up at the start.
endpoints    g state_shared_peers Peers on shared relay ports taken up at the start.
reservations g state_reservations Reserved ports taken up at the start.
redirects    g state_redirects    Of these allocations, those that live on another worker than their client.
resting      g state_resting      Relay ports that go on resting.
lost_expired       g state_lost{reason=expired} Records of the last process that were not taken up, by reason.
lost_stream        g state_lost{reason=stream} .
lost_listener      g state_lost{reason=listener} .
lost_relay         g state_lost{reason=relay} .
lost_port          g state_lost{reason=port} .
lost_user          g state_lost{reason=user} .
lost_peer          g state_lost{reason=peer} .
lost_quota         g state_lost{reason=quota} .
lost_room          g state_lost{reason=room} .
lost_reservation   g state_lost{reason=reservation} .
lost_permission    g state_lost{reason=permission} .
lost_channel       g state_lost{reason=channel} .
lost_half_written  g state_lost{reason=half-written} .
lost_damaged       g state_lost{reason=damaged} .
""")
RELOADS = table("""
ended        c reloads             Reloads that have ended.
refused      c reloads_refused     Of these, those refused: nothing was changed.
last_refused g reload_last_refused 1 when the last one was refused.
at           g reload_last_seconds Unix time at which the last one ended; 0 = there was none.
""")
CERTIFICATE = table("""
certificate -
not_after   g not_after_seconds Unix time at which a certificate in use ends, or what stands behind it.
renew       g renew_seconds     Unix time by which it should have been renewed and read again.
""")
WATCHDOG = table("""
alarms_workers    c alarms{of=workers}    Times that workers, management or other threads made no progress.
alarms_management c alarms{of=management} .
alarms_threads    c alarms{of=threads}    .
ticks             c ticks                 Looks of the watchdog.
late_ticks        c late_ticks            Looks that came too late to count: the machine was full, or stood still.
crash_reports     g crash_reports         Reports of crashes that are kept.
""")
DRAIN = table("""
draining    g active           1 while the box drains: it makes no new allocations.
deadline    g deadline_seconds Time until a box that drains ends at the latest.
below       g below            Allocations at which a box that drains ends.
since       -
allocations -
refused     -
""")
ALTERNATE = table("""
servers          g servers                    Other servers that clients may be sent to.
sends            g active                     1 while new clients are sent to other servers, and the box does not drain.
sent             -
allocations_from g from_allocations           Allocations from which new clients are sent to other servers.
datagrams_from   g from_datagrams_per_second  Datagrams relayed in a second from which they are.
datagrams        g datagrams_per_second       Datagrams relayed in the last second.
""")
# The commands whose answer is one object of numbers: (table, prefix of the metrics)
PLAIN = {
    "/slipring/stats": (STATS, ""),
    "/slipring/streams": (STREAMS, "streams_"),
    "/slipring/dtls": (DTLS, "dtls_"),
    "/slipring/config": (CONFIG, "config_"),
    "/slipring/reloads": (RELOADS, ""),
    "/slipring/records": (RECORDS, "records_"),
    "/slipring/log": (LOG, "log_"),
    "/slipring/state": (STATE, ""),
    "/slipring/watchdog": (WATCHDOG, "watchdog_"),
    "/slipring/alternate": (ALTERNATE, "alternate_"),
    "/slipring/drain": (DRAIN, "drain_"),
}
