// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line.
#include "options/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MAX_S 60.0

static const char usage[] =
	"Usage: slipring-probe [OPTIONS] SERVER\n"
	"\n"
	"Asks a TURN server for an allocation over each transport, sends datagrams through\n"
	"it, and says what is wrong. SERVER is HOST[:PORT], or a URI:\n"
	"turn:HOST[:PORT][?transport=udp|tcp], turns:HOST[:PORT][?transport=udp|tcp].\n"
	"The probe is its own peer: it sends a datagram to the relayed transport address, and\n"
	"one back. Without credentials it tests connection and Binding only. It leaves no\n"
	"allocation behind.\n"
	"\n"
	"Options:\n"
	"  --user NAME         name of a user\n"
	"  --password PW       the user's password\n"
	"  --secret SECRET     make a name of one hour and its password (REST API);\n"
	"                      --user NAME is added to the name\n"
	"  --password-file FILE, --secret-file FILE\n"
	"                      instead: a file with this one line; ps shows the other two to\n"
	"                      every user of the host\n"
	"  --transport LIST    of udp, tcp, tls, dtls: each must work. Without it, and without\n"
	"                      ?transport=, those that answer must work\n"
	"  --ca FILE           trust the CAs of this PEM file, not those of the system\n"
	"  --name NAME         that the certificate must have (HOST)\n"
	"  -4, -6              IPv4 or IPv6 only\n"
	"  --timeout SECONDS   of each step (5)\n"
	"  --json              print one JSON object\n"
	"  --prometheus        print metrics in the text format of Prometheus\n"
	"  --help, --version   print this, or the version\n"
	"\n"
	"Exit codes:\n"
	"  0  all transports work\n"
	"  1  one does not, or none answers\n"
	"  2  the command line is wrong\n"
	"\n"
	"Examples:\n"
	"  slipring-probe --user ivan --password pw turn.example.org\n"
	"  slipring-probe --secret s3cret --transport tls,udp --json turn.example.org\n"
	"  slipring-probe --ca ca.pem 'turns:192.0.2.1:443?transport=tcp'\n";

enum { OPT_USER = 256, OPT_PASSWORD, OPT_SECRET, OPT_TRANSPORT, OPT_CA, OPT_NAME, OPT_TIMEOUT };
enum { OPT_PASSWORD_FILE = 280, OPT_SECRET_FILE };
enum { OPT_JSON = 300, OPT_PROMETHEUS, OPT_HELP, OPT_VERSION };

static const struct option table[] = {
	{"user", required_argument, NULL, OPT_USER},
	{"password", required_argument, NULL, OPT_PASSWORD},
	{"secret", required_argument, NULL, OPT_SECRET},
	{"password-file", required_argument, NULL, OPT_PASSWORD_FILE},
	{"secret-file", required_argument, NULL, OPT_SECRET_FILE},
	{"transport", required_argument, NULL, OPT_TRANSPORT},
	{"ca", required_argument, NULL, OPT_CA},
	{"name", required_argument, NULL, OPT_NAME},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"json", no_argument, NULL, OPT_JSON},
	{"prometheus", no_argument, NULL, OPT_PROMETHEUS},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{},
};

// Reads a list as in "udp,tls". False for an empty or unknown name.
static bool read_transports(const char *list, unsigned int *bits)
{
	size_t len;
	unsigned int t;

	for (*bits = 0;; list += len + 1) {
		len = strcspn(list, ",");
		for (t = 0; t < NB_TRANSPORTS; t++)
			if (strlen(transport_name(t)) == len &&
				memcmp(list, transport_name(t), len) == 0)
				break;
		if (t == NB_TRANSPORTS)
			return false;
		*bits |= TRANSPORT_BIT(t);
		if (list[len] == '\0')
			return true;
	}
}

static bool read_timeout(const char *text, uint32_t *ms)
{
	char *end;
	const double s = strtod(text, &end);

	if (end == text || *end != '\0' || !(s >= 0.1 && s <= TIMEOUT_MAX_S))
		return false;
	*ms = (uint32_t)(s * 1000);
	return true;
}

// Reads the only line of a file into o->line. Returns the reason why that fails, or NULL.
static const char *read_file(struct opts *o, const char *path)
{
	FILE *file = fopen(path, "re");
	const size_t len = file != NULL ? fread(o->line, 1, sizeof(o->line) - 1, file) : 0;
	const bool failed = file == NULL || ferror(file) != 0;
	const size_t line = strcspn(o->line, "\n");
	bool good = line > 0 && line <= OPTS_LINE && line + 1 >= len;

	if (file != NULL)
		fclose(file);
	if (failed)
		return "the file of the password or secret cannot be read: ";
	for (size_t i = 0; i < line; i++)
		good = good && (unsigned char)o->line[i] >= 0x20;
	if (!good || o->line[len - 1] == '\0')
		return "the file of the password or secret must have one line, of 1 to 1023 bytes "
		       "without control characters: ";
	o->line[line] = '\0';
	return NULL;
}

static const char *read_secret(struct opts *o, bool is_secret, const char *path)
{
	if (o->password == o->line || o->secret == o->line)
		return "only one of --password-file and --secret-file makes sense: ";
	*(is_secret ? &o->secret : &o->password) = o->line;
	return read_file(o, path);
}

// Reads one option. Returns the reason why it is wrong, or NULL.
static const char *read_option(struct opts *o, int opt, const char *value)
{
	if (opt == OPT_USER)
		o->user = value;
	else if (opt == OPT_PASSWORD)
		o->password = value;
	else if (opt == OPT_SECRET)
		o->secret = value;
	else if (opt == OPT_PASSWORD_FILE || opt == OPT_SECRET_FILE)
		return read_secret(o, opt == OPT_SECRET_FILE, value);
	else if (opt == OPT_CA)
		o->ca = value;
	else if (opt == OPT_NAME)
		o->name = value;
	else if (opt == '4' || opt == '6')
		o->family = opt == '4' ? AF_INET : AF_INET6;
	else if (opt == OPT_JSON || opt == OPT_PROMETHEUS)
		o->format = opt == OPT_JSON ? FORMAT_JSON : FORMAT_PROMETHEUS;
	else if (opt == OPT_TRANSPORT && !read_transports(value, &o->transports))
		return "--transport takes a list of udp, tcp, tls and dtls";
	else if (opt == OPT_TIMEOUT && !read_timeout(value, &o->timeout_ms))
		return "--timeout takes 0.1 to 60 seconds";
	else if (opt == '?')
		return "unknown option, or its value is missing: ";
	return NULL;
}

// Returns the reason why the options do not fit together, or NULL.
static const char *check_options(const struct opts *o)
{
	if (o->secret != NULL && o->password != NULL)
		return "--secret makes the password: give no --password";
	if (o->secret == NULL && (o->user == NULL) != (o->password == NULL))
		return "--user and --password belong together";
	if ((o->user != NULL && (o->user[0] == '\0' || strlen(o->user) > USER_MAX - 16)) ||
		(o->secret != NULL && o->secret[0] == '\0'))
		return "the name or the secret is empty or too long";
	if (o->name != NULL && (o->name[0] == '\0' || strlen(o->name) > NAME_MAX_LEN))
		return "--name is empty or too long";
	if (o->uri.exact && (o->transports & ~o->uri.transports) != 0)
		return "--transport and ?transport= contradict each other";
	return NULL;
}

// Reads the server behind the options. Returns the reason why it is wrong, or NULL.
static const char *read_server(struct opts *o, int argc, char **argv)
{
	if (optind + 1 != argc)
		return "name one server; see --help";
	o->text = argv[optind];
	if (!uri_read(o->text, &o->uri))
		return "the server must be HOST[:PORT], turn:HOST[:PORT] or turns:HOST[:PORT], "
		       "with ?transport=udp or tcp behind a URI";
	o->asked = o->transports != 0 || o->uri.exact;
	if (o->transports == 0)
		o->transports = o->uri.transports;
	return check_options(o);
}

enum opts_result opts_read(int argc, char **argv, struct opts *o, char error[OPTS_ERROR_SIZE])
{
	const char *reason = NULL;
	int opt;

	*o = (struct opts){.timeout_ms = TIMEOUT_DEFAULT_MS, .family = AF_UNSPEC};
	opterr = optind = 0;
	while (reason == NULL && (opt = getopt_long(argc, argv, "46", table, NULL)) != -1) {
		if (opt == OPT_HELP)
			fputs(usage, stdout);
		else if (opt == OPT_VERSION)
			puts("slipring-probe " SLIPRING_VERSION);
		if (opt == OPT_HELP || opt == OPT_VERSION)
			return OPTS_SHOWN;
		reason = read_option(o, opt, optarg);
	}
	if (reason == NULL)
		reason = read_server(o, argc, argv);
	if (reason == NULL)
		return OPTS_RUN;
	// a reason that ends with a colon is about the last argument
	snprintf(error, OPTS_ERROR_SIZE, "%s%s", reason,
		reason[strlen(reason) - 1] == ' ' ? argv[optind - 1] : "");
	return OPTS_ERROR;
}
