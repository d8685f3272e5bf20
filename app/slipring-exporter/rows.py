# SPDX-License-Identifier: BSD-3-Clause
"""Maps the fields of slipring's telemetry to metrics: name, type, labels and HELP.

counters.py has the fields that are in a list of counters (lib/base/counter_list.h). A table has a
line for each other field: the field, c (counter) or g (gauge), the metric without "slipring_", and
its HELP text. A metric may have labels: NAME{label=value}. "-" leaves a field out:
it is a text, or another metric has it. The text "." stands for slipring's own text about the field
(/slipring/meanings), or, for further values of a label, for the text of the first one.
"""

import re
from typing import NamedTuple

import counters


class Row(NamedTuple):
    kind: str  # c, g or -
    name: str
    labels: tuple  # of pairs
    text: str


def row(kind, name="", text=""):
    found = re.fullmatch(r"(\w*)(?:{(\w+)=([\w-]+)})?", name)
    return Row(kind, found[1], ((found[2], found[3]),) if found[2] else (), text)


def table(text):
    rows = {}
    for line in text.strip().splitlines():
        field, *rest = line.split(None, 3)
        new = row(*rest)
        if new.labels and new.text == ".":
            new = new._replace(text=next(row.text for row in rows.values() if row.name == new.name))
        rows[field] = new
    return rows


def sentence(meaning):
    return meaning[:1].upper() + meaning[1:] + "."


def listed(lines):
    return {key: row(kind, metric or key, sentence(meaning)) for key, kind, metric, meaning in lines}


def left_out(fields):
    return dict.fromkeys(fields.split(), row("-"))


# All workers together
STATS = listed(counters.STATS) | table("""
buffers               g buffers              Number of packet buffers.
buffers_free          g buffers_free         Packet buffers that are free.
""")
# Bursts of one worker; metrics.py parses classes and histograms
BURSTS = listed(counters.BURSTS) | left_out(
    "polls rx tx handed_in no_mbuf tx_full rx_average uso_fraction classes rx_hist tx_hist hand_hist"
)
# One worker (as slipring_worker_...); BURSTS has the metrics of bursts
WORKER = left_out(" ".join(BURSTS)) | listed(counters.WORKER) | STATS | table("""
lcore         g lcore              The lcore of the worker.
""")
SCALES = {"sleep_cost_ns": 1e-9, "away_ms": 1e-3, "took_ms": 1e-3, "lookup_ms": 1e-3}
PORT = listed(counters.PORT) | table("""
link      g link_up        1 when the link is up.
trouble   g trouble        1 when another problem keeps the port from working; see slipringctl status.
mtu       g mtu_bytes      MTU of the port.
vlan      g vlan           VLAN id of the port; 0 = untagged.
rx_queues g rx_queues      Receive queues.
tx_queues g tx_queues      Transmit queues.
rx_ring   g rx_ring_slots  Descriptors of a receive queue.
tx_ring   g tx_ring_slots  Descriptors of a transmit queue.
rss       g rss            1 when the NIC spreads packets over the queues.
""") | left_out("name kind driver mac on offloads members")
STEERING = table("""
rules       g rules                  Rules in the NIC.
hits        c home_datagrams         Datagrams from peers received on the queue of their worker.
handed_over c handed_over_datagrams  Datagrams from peers received on the queue of another worker.
degraded    g degraded               1 when rules are in use, but packets still arrive on other queues.
""") | left_out("port family step why")
TO, FROM = "to_kernel_datagrams", "from_kernel_datagrams"
EXCEPTION = listed(counters.EXCEPTION) | table(f"""
link      g link_up      1 when the interface of the exception port is up.
trouble   g trouble      1 when a problem keeps the exception port from working; see slipringctl status.
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
""") | left_out("port interface netns offloads")
REFUSED, CLOSED, PROXY = "refused", "closed", "proxy_refused"
STREAMS = table(f"""
connections      g connections           Open connections.
tls              g tls_connections       Open connections with TLS.
accepted         c accepted              Connections accepted in total, without those refused.
refused_denied   c denied                Connections of clients denied by clients.*: refused, or closed by a reload.
refused_blocked  c blocked               Connections of blocked clients: refused, or closed when the order came.
refused_total    c {REFUSED}{{limit=total}}   Connections refused, by limit.
refused_source   c {REFUSED}{{limit=source}}  .
refused_network  c {REFUSED}{{limit=network}} .
refused_rate     c {REFUSED}{{limit=rate}}    .
refused_files    c {REFUSED}{{limit=files}}   .
refused_proxy    c {PROXY}{{reason=source}}   Failed connections to listeners for balancers, by reason.
proxy_none       c {PROXY}{{reason=none}}     .
proxy_bad        c {PROXY}{{reason=bad}}      .
proxy_long       c {PROXY}{{reason=long}}     .
proxy_slow       c {PROXY}{{reason=slow}}     .
proxy_gave_way   c {PROXY}{{reason=gave_way}} .
proxy_taken      c {PROXY}{{reason=taken}}    .
proxy_closed     c {PROXY}{{reason=closed}}   .
proxy_own        c proxy_own             Connections that balancers made for their own purposes.
handshakes       c handshakes            .
handshake_failed c {CLOSED}{{reason=handshake_failed}} Connections closed, by reason.
slow             c {CLOSED}{{reason=slow}}     .
gave_way         c {CLOSED}{{reason=gave_way}} .
idle             c {CLOSED}{{reason=idle}}     .
garbage          c {CLOSED}{{reason=garbage}}  .
rekeys           c {CLOSED}{{reason=rekeys}}   .
failed           c {CLOSED}{{reason=failed}}   .
closed           c {CLOSED}{{reason=closed}}   .
rx               c rx_messages           .
tx               c tx_messages           .
rx_bytes         c rx_bytes              Bytes received, without TLS.
tx_bytes         c tx_bytes              Bytes written, before TLS.
writes           c writes                Writes; messages of one moment are written together.
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
relay_ports       g relay_ports           Open ports of TCP allocations.
relay_connections g relay_connections     Open connections with peers.
relay_connected   c relay_connections_made{{by=client}} Connections made with peers, by initiator.
relay_accepted    c relay_connections_made{{by=peer}}   .
relay_bound       c relay_bound           Connections with peers bound by a client.
relay_failed      c relay_refused{{reason=failed}}    Failed Connect requests and connections of peers, by reason.
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
half_open         g handshakes_under_way  Handshakes in progress.
verify            c hello_verify_requests .
gave_way          c handshakes_given_up   .
opened            c sessions_made         Sessions established in total.
replaced          c ended{{reason=replaced}} Sessions ended, by reason.
closed            c ended{{reason=closed}}   .
failed            c ended{{reason=failed}}   .
idle              c ended{{reason=idle}}     .
rx                c rx_messages           .
tx                c tx_messages           .
again             c handshake_repeats     .
unsealed          c unsealed_records      .
handshakes        c handshakes            DTLS handshakes completed.
handshake_failed  c handshakes_failed     DTLS handshakes given up: failed, or longer than 10 seconds.
refused_total     c {REFUSED}{{limit=total}}   DTLS handshakes refused, by limit.
refused_source    c {REFUSED}{{limit=source}}  .
refused_network   c {REFUSED}{{limit=network}} .
handshake_overrun c handshake_overruns    Datagrams of DTLS handshakes dropped because too many waited.
""")
CONFIG = table("""
ports                g ports                 Ports.
listeners            g listeners             Listeners.
relay_addresses      g relay_addresses       Relay addresses.
relay_pools          g relay_pools           Pools of relay addresses.
external_addresses   g external_addresses    Addresses that have an external address.
routes               g routes                Routes of all ports.
relay_port_low       g relay_port_low        First relay port.
relay_port_high      g relay_port_high       Last relay port.
quarantine           g quarantine_seconds    Quarantine of a relay port.
realms               g realms                Realms.
users                g users                 Users of auth.realm.
secrets              g secrets               Number of secrets for REST names.
token_keys           g token_keys            Keys of access tokens of auth.realm.
nonce_lifetime       g nonce_lifetime_seconds How long a nonce is valid.
hairpin              g hairpin               1 when peers may be relay addresses of this server.
allow                g peer_rules{list=allow} Rules of peers.allow and peers.deny.
deny                 g peer_rules{list=deny}  .
limit_allocations    g limit_allocations     limits.allocations.
limit_per_user       g limit_per_user        limits.per-user; 0 = no limit.
limit_per_source     g limit_per_source      limits.per-source; 0 = no limit.
limit_connections    g limit_connections     streams.connections.
limit_sessions       g limit_sessions        dtls.sessions.
lifetime_default     g lifetime_default_seconds Lifetime of an allocation whose client requests none.
lifetime_max         g lifetime_max_seconds  Longest lifetime of an allocation.
unauthenticated_rate g limit_unauthenticated_per_second limits.unauthenticated; 0 = no limit.
stale_nonce_rate     g limit_stale_nonce_per_second 438 answers per second to one source; 0 = no limit.
guess_rate           g limit_guesses_per_second Wrong passwords per second of one source; 0 = no limit.
binding_rate         g limit_binding_per_second limits.binding; 0 = no limit.
""") | left_out("path realm idle relay_mode workers")
REALM = table("""
realm             -
allocations       g realm_allocations      Live allocations.
allocations_total c realm_allocations_made Allocations made.
rx                c realm_datagrams{from=client} Datagrams relayed, by sender.
tx                c realm_datagrams{from=peers}  .
rx_bytes          c realm_bytes{from=client}     Bytes of data relayed, without headers, by sender.
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
# Histograms: (prefix of the fields, unit in their names, metric, scale, True if per worker)
HISTOGRAMS = (
    ("time", "_ns", "datagram_seconds", 1e-9, True,
        "Time from receiving a datagram until its relayed datagram or answer was sent, for one in 1,024."),
    ("lifetime", "_s", "allocation_lifetime_seconds", 1, False,
        "Lifetimes of allocations that have ended."),
    ("bytes", "", "allocation_bytes", 1, False,
        "Bytes of data, in both directions, of allocations that have ended."),
)  # fmt: skip
RECORDS = table("""
written c written       Records of sessions written.
lost    c lost          Records of sessions lost.
unsent  c unsent        Records of sessions that could not be sent.
waiting g waiting       Records of sessions waiting to be written.
""")
AREAS = "start config ports addresses streams auth sessions workers dpdk control".split()
LOG = table("\n".join((
    "lost c lost Lines that the reader of standard error, journald or syslog did not accept.",
    *(f"{area}_level -" for area in AREAS),
    *(f"{area}_lines c lines{{area={area}}} Lines written, by area." for area in AREAS),
    *(f"{area}_suppressed c suppressed{{area={area}}} Lines suppressed above the rate of an area." for area in AREAS),
)))  # fmt: skip
# The state area, as found at the start
STATE = table("""
start        -
why          -
version      -
kept         g state_kept         1: a restart keeps the calls of this process; 0: there was no room for the area.
bytes        g state_bytes        Size of the state area.
bytes_each   g state_bytes_each   Size of the state area per possible allocation.
away_ms      g state_away_seconds Time from the end of the last process until its calls were restored.
took_ms      g state_took_seconds Time taken to restore calls.
deaths       g state_deaths       Number of consecutive processes before this one that died within a minute of their start.
allocations  g state_allocations  Allocations restored at the start.
permissions  g state_permissions  Permissions restored at the start.
channels     g state_channels     Channels restored at the start.
endpoints    g state_shared_peers Peers on shared relay ports restored at the start.
reservations g state_reservations Reserved ports restored at the start.
redirects    g state_redirects    Restored allocations that live on another worker than their client.
resting      g state_resting      Relay ports that remain in quarantine.
lost_expired       g state_lost{reason=expired} Records of the last process that were not restored, by reason.
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
refused      c reloads_refused     Reloads that were refused and changed nothing.
last_refused g reload_last_refused 1 when the last reload was refused.
at           g reload_last_seconds Unix time at which the last reload ended; 0 = no reload yet.
""")
CERTIFICATE = table("""
certificate -
not_after   g not_after_seconds Unix time at which a certificate in use, or one of its chain, expires.
renew       g renew_seconds     Unix time by which the certificate should be renewed and read again.
""")
WATCHDOG = table("""
alarms_workers    c alarms{of=workers}    Times that workers, management or other threads made no progress.
alarms_management c alarms{of=management} .
alarms_threads    c alarms{of=threads}    .
ticks             c ticks                 Ticks of the watchdog.
late_ticks        c late_ticks            Ticks that came too late to count: the machine was overloaded or stopped.
crash_reports     g crash_reports         Crash reports that are kept.
""")
BLOCKED = table("""
addresses g blocked{of=addresses} Blocked addresses and users.
users     g blocked{of=users}     .
""")
DRAIN = table("""
draining    g active           1 while the server drains: it makes no new allocations.
deadline    g deadline_seconds Time until a draining server ends at the latest.
below       g below            Number of allocations at which a draining server ends.
since       -
allocations -
refused     -
""")
ALTERNATE = table("""
servers          g servers                    Other servers that clients may be redirected to.
sends            g active                     1 while new clients are redirected to other servers, and the server does not drain.
sent             -
allocations_from g from_allocations           Number of allocations from which new clients are redirected.
datagrams_from   g from_datagrams_per_second  Datagrams relayed per second from which new clients are redirected.
datagrams        g datagrams_per_second       Datagrams relayed in the last second.
""")
# While users are not looked up, only the first
LOOKUP = table("""
enabled       g enabled        1 when users are looked up (auth.lookup).
connected     g connected      1 while slipring-accounts, or a program with its protocol, is connected.
since_s       g since_seconds  Time since that connection was made or lost.
connections   c connections    Connections made to it.
no_connection c no_connection  Questions that got no answer for want of a connection.
bad_records   c bad_records    Invalid records; each ended a connection.
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
    "/slipring/blocked": (BLOCKED, ""),
    "/slipring/drain": (DRAIN, "drain_"),
    "/slipring/lookup": (LOOKUP, "lookup_"),
}
