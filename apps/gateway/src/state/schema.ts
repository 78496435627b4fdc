/** Version 1 of the state file. */
export const SCHEMA_VERSION = 1

/** Identifies the file in its header ("CHGW"), so that another database is never used as state. */
export const APPLICATION_ID = 0x43484757

/**
 * Digests in `ledger` cover the facts, because a database detects a broken page but not a changed letter: a flipped bit
 * in a certificate id would lose a revocation.
 */
export const SCHEMA = `
  create table checkpoints (
    network text not null,
    issuer text not null,
    sequence integer not null,
    issued_at text not null,
    suspect integer not null,
    body text not null,
    primary key (network, issuer)
  ) strict;
  create table withdrawn (
    network text not null,
    issuer text not null,
    certificate_id text not null,
    reason text not null,
    revoked_at text not null,
    primary key (network, issuer, certificate_id)
  ) strict, without rowid;
  create table equivocations (
    number integer primary key,
    network text not null,
    issuer text not null,
    sequence integer not null,
    seen_at text not null,
    held text not null,
    offered text not null
  ) strict;
  create table audit (
    sequence integer primary key,
    body text not null,
    hash text not null
  ) strict;
  create table outbox (
    sequence integer primary key,
    attempts integer not null
  ) strict;
  create table ledger (
    one integer primary key check (one = 1),
    facts text not null,
    facts_count integer not null,
    first_sequence integer not null,
    first_prev_hash text,
    head_sequence integer not null,
    head_hash text,
    pending_count integer not null,
    pending_sum integer not null,
    seal text not null
  ) strict;
`
