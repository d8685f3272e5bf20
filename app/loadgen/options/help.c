// SPDX-License-Identifier: BSD-3-Clause
// --help.
#include "options/help.h"

static const char usage[] =
	"Usage: slipring-loadgen [EAL-ARGS] -- [OPTIONS]\n"
	"  or:  slipring-loadgen OPTIONS\n"
	"\n"
	"Loads a TURN server with many clients, acts as their peers, and measures the traffic.\n"
	"Without EAL arguments it chooses memory and lcores itself.\n"
	"\n"
	"Numbers take k, M and G (2.5M), shares are 1% or 0.01, times are seconds (0.5).\n";

static const char ports[] =
	"\n"
	"Roles and ports:\n"
	"  --role client|peer|both  part of this process (both; client in modes without media)\n"
	"  --client-port PORT       port of the clients: number of an ethdev, or a device as in\n"
	"                           \"net_af_packet0,iface=c0\" or \"vtap:c0\" (0)\n"
	"  --peer-port PORT         port of the peers (1 if there is one, else the clients')\n"
	"  --senders N              lcores that send (1)\n"
	"  --receivers N            lcores that receive (1); both share lcores if necessary\n"
	"  --mtu N                  of both ports (1500)\n"
	"  --ring N                 descriptors of each queue (1024)\n"
	"  --mbufs N                packet buffers (as many as the rest needs)\n";

static const char addresses[] =
	"\n"
	"Addresses (the program answers ARP, ND and ping for its own):\n"
	"  --server ADDR[:PORT]     the TURN server, [ADDR]:PORT for IPv6 (port 3478; over TLS\n"
	"                           and DTLS 5349)\n"
	"  --client-addr FROM[-TO]/LEN  addresses of the clients and prefix length of their link\n"
	"                           (over TCP, TLS, DTLS: addresses of this host's kernel)\n"
	"  --client-ports FROM[-TO]  UDP ports of each of these addresses (10000-59999)\n"
	"  --client-gateway ADDR    next hop for destinations off the link\n"
	"  --peer-addr FROM[-TO]/LEN, --peer-ports, --peer-gateway   the same for the peers;\n"
	"                           with --role client, where they are\n";

static const char clients[] =
	"\n"
	"Clients:\n"
	"  --clients N              number of clients, each with its own address and port (1)\n"
	"  --transport udp|tcp|tls|dtls  between clients and the server (udp); all except udp\n"
	"                           by this host's kernel and libssl\n"
	"  --ca FILE                verify the server's certificate with those of a PEM file;\n"
	"                           without it NO CERTIFICATE IS VERIFIED; names never are\n"
	"  --tls-max 1.2|1.3        latest version of TLS that clients speak (1.3)\n"
	"  --user NAME --password PW  long-term credential\n"
	"  --secret S [--user NAME]  REST credential: the name becomes EXPIRY:NAME\n"
	"  --user-per-client        NAME becomes NAME0, NAME1, ...\n"
	"  --integrity sha1|sha256  of messages (sha1)\n"
	"  --dont-fragment          ask for DONT-FRAGMENT\n"
	"  --lifetime S             of allocations, as asked for (600)\n"
	"  --setup-rate N           clients set up per second; 0: as fast as answers come (1000)\n"
	"  --window N               clients in set-up at a time (256)\n";

static const char traffic[] =
	"\n"
	"Traffic:\n"
	"  --mode MODE              (channel)\n"
	"      channel              media as ChannelData\n"
	"      send                 media as Send and Data indications\n"
	"      direct               media past the server: measures the generator itself\n"
	"      peer-to-client       channel with --direction down\n"
	"      binding              Binding requests\n"
	"      alloc                allocate and release, over and over\n"
	"      alloc-hold           allocate and keep\n"
	"      handshake            connect, one Binding, close, over and over (tcp, tls, dtls)\n"
	"      invalid              malformed datagrams; is the server alive afterwards?\n"
	"      unauth               Allocate requests without credentials\n"
	"  --direction up|down|both|echo  clients to peers, back, both at a time, or up and back\n"
	"                           through an echo (up; with --role client only echo)\n"
	"  --pps N|flood            datagrams per second, all clients and directions together\n"
	"                           (1000); with --mode alloc, handshake: of these (flood)\n"
	"  --mbps N                 the rate as Mb/s of UDP payload\n"
	"  --pps-per-client N       the rate of each client\n"
	"  --voip                   50 pps per client and direction, 160 bytes unless --size\n"
	"  --size N[,N...]          payload bytes, used in turn (120); 28 at least\n"
	"  --burst N                datagrams of a flow back to back (1)\n"
	"  --uso auto|on|off        bursts leave as super-frames: where it costs nothing, where a\n"
	"                           port can, never (auto: on a vtap, not on an ethdev)\n"
	"  --duration S             of the traffic, or of each trial of a search (10)\n"
	"  --warmup S               traffic before anything is counted (1)\n"
	"  --drain S                wait for the last datagrams (0.5)\n";

static const char peers[] =
	"\n"
	"Peers:\n"
	"  --reflect echo|sink      send datagrams back or only count them (as --direction needs;\n"
	"                           --role peer: echo)\n"
	"  --impair LIST            make faults on purpose, to test the measurement: any of\n"
	"                           loss=P,duplicate=P,reorder=P,corrupt=P,delay=MICROSECONDS\n";

static const char searches[] =
	"\n"
	"Searches:\n"
	"  --search ndr             highest rate without any loss\n"
	"  --search pdr             highest rate with at most --loss (0.5%)\n"
	"  --search alloc-rate      highest rate of allocations (--mode alloc)\n"
	"  --from N --to N          rates to look between (1k and 10M; alloc-rate: 100 and 1M)\n"
	"  --resolution P           how close to the answer (1%)\n"
	"  --repeats N              trials of each rate, odd: the majority decides (3)\n";

static const char output[] =
	"\n"
	"Output:\n"
	"  --stats-period S         a line of the table every S seconds; 0: none (1)\n"
	"  --json [FILE]            the result as one JSON object (to stdout; other output then\n"
	"                           goes to stderr)\n"
	"  --telemetry PREFIX       also print the drops of the slipring with this file prefix\n"
	"  --plot FILE.svg          draw the search: loss and latency against the rate\n"
	"  --interactive            prompt: start, stop, show stats, set pps N, quit\n"
	"  -h, --help               print this\n"
	"      --version            print the version\n"
	"\n"
	"SIGINT, SIGTERM: stop sending, release the allocations, print the result; twice: end at\n"
	"once.\n"
	"Exit status: 0 if it ran as asked, whatever was measured; else 1.\n";

static const char examples[] =
	"\n"
	"Examples:\n"
	"  Two of our veth ends, c0 on the clients' side, p0 on the peers' side; at the server's\n"
	"  ends, `ethtool -K NAME tx off`, or it sends unfinished checksums:\n"
	"    slipring-loadgen --client-port net_af_packet0,iface=c0 \\\n"
	"      --peer-port net_af_packet1,iface=p0 --server 10.99.0.1 \\\n"
	"      --client-addr 10.99.0.2/24 --peer-addr 10.98.0.2/24 --peer-gateway 10.98.0.1 \\\n"
	"      --user ivan --password pw --clients 100 --pps 20k\n"
	"  Server, clients and peers on one memory wire (slipring's port: role=server):\n"
	"    slipring-loadgen --server 10.99.0.1 \\\n"
	"      --client-port net_memif0,role=client,socket=/run/m.sock,socket-abstract=no \\\n"
	"      --client-addr 10.99.0.10-10.99.0.59/24 --peer-addr 10.99.0.2/24 \\\n"
	"      --secret s3cret --user load --clients 1000 --pps flood\n"
	"  The rate at which coturn starts to lose datagrams, with a picture:\n"
	"    slipring-loadgen ADDRESSES-AS-ABOVE --user ivan --password pw --clients 8 \\\n"
	"      --direction echo --search pdr --loss 0.5% --duration 3 --json r.json --plot r.svg\n"
	"  Reflector and clients in two processes (hosts), calls of 50 pps each way:\n"
	"    slipring-loadgen --role peer --peer-port net_af_packet0,iface=p0 \\\n"
	"      --peer-addr 10.98.0.2/24 --peer-gateway 10.98.0.1\n"
	"    slipring-loadgen --role client --client-port net_af_packet0,iface=c0 \\\n"
	"      --server 10.99.0.1 --client-addr 10.99.0.2/24 --peer-addr 10.98.0.2 \\\n"
	"      --user ivan --password pw --clients 200 --voip\n"
	"  On two ports of a NIC, lcores 2-5:\n"
	"    slipring-loadgen -l 1-5 -a 3b:00.0 -a 3b:00.1 --file-prefix gen -- --senders 2 \\\n"
	"      --receivers 2 --server 192.0.2.1 --client-addr 192.0.2.10-192.0.2.19/24 \\\n"
	"      --peer-addr 198.51.100.10-198.51.100.19/24 --peer-gateway 198.51.100.1 \\\n"
	"      --secret s3cret --clients 100k --setup-rate 5k --pps 2M --direction both\n"
	"  Ten clients over TLS; this namespace has the clients' address, not the peers':\n"
	"    slipring-loadgen --transport tls --server 10.99.0.1 --client-addr 10.99.0.2 \\\n"
	"      --peer-port net_af_packet0,iface=p0 --peer-addr 10.98.0.2/24 \\\n"
	"      --user ivan --password pw --clients 10 --pps-per-client 1k --direction both\n"
	"\n"
	"Manual: doc/loadgen.md\n";

void help_print(FILE *out)
{
	static const char *const parts[] = {
		usage, ports, addresses, clients, traffic, peers, searches, output, examples};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		fputs(parts[i], out);
}
