// SPDX-License-Identifier: BSD-3-Clause
// Takes over from a file that was read again what a running server can take up: the keys of hot.c.
#include "changes/said.h"
#include "conf.h"
#include "conf_changes.h"

struct conf *conf_load_again(const struct conf *running, struct conf_report *r)
{
	return conf_load_said(running->path, r, &running->said->hash);
}

struct turn_config conf_merged(const struct conf *running, const struct conf *fresh)
{
	const struct turn_config *f = &fresh->turn;
	struct turn_config t = running->turn;

	t.users = f->users;
	t.nb_users = f->nb_users;
	t.secrets = f->secrets;
	t.nb_secrets = f->nb_secrets;
	t.nonce_secret = f->nonce_secret;
	t.nonce_lifetime_s = f->nonce_lifetime_s;
	t.allow = f->allow;
	t.nb_allow = f->nb_allow;
	t.deny = f->deny;
	t.nb_deny = f->nb_deny;
	t.nat64 = f->nat64;
	t.nb_nat64 = f->nb_nat64;
	t.hairpin = f->hairpin;
	t.rfc5766_channels = f->rfc5766_channels;
	t.icmp_tell = f->icmp_tell;
	t.interim_s = f->interim_s;
	t.limits = f->limits;
	return t;
}

void conf_adopt(struct conf *running, struct conf *fresh)
{
	const struct turn_config with = conf_merged(running, fresh);
	const struct turn_config without = conf_merged(fresh, running);
	const bool lower_ends = running->lower_ends;
	struct conf_said *said = running->said;

	running->turn = with;
	fresh->turn = without;
	running->lower_ends = fresh->lower_ends;
	fresh->lower_ends = lower_ends;
	running->said = fresh->said;
	fresh->said = said;
}
