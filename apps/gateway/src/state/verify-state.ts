import { DatabaseSync } from 'node:sqlite'
import { type PruneLimit, findBrokenLink } from './audit-log.ts'
import { type Equivocation, type StoredCheckpoint, factRows } from './checkpoints.ts'
import { EMPTY_STATE_VALUES, StateError, type StateValues, changeFacts, readStateValues } from './state-values.ts'
import type { Instant, JsonObject } from '@chancery/protocol'

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

/**
 * Checks everything that needs no keys: pages, tables, seal, digests and, unless left out, the audit chain. Throws {@link
 * StateError}.
 */
export function verifyState(db: DatabaseSync, chain: 'with-chain' | 'without-chain' = 'with-chain'): StateValues {
  try {
    const [first] = db.prepare('pragma integrity_check(1)').all()
    if (first?.['integrity_check'] !== 'ok') throw new StateError('the state is damaged: its pages are inconsistent')
    checkTables(db)
    const values = readStateValues(db)
    checkFacts(db, values)
    checkOutbox(db, values)
    const broken = chain === 'with-chain' ? findBrokenLink(db, values) : undefined
    if (broken !== undefined) throw new StateError(`the state is damaged: the audit chain breaks at event ${broken}`)
    return values
  } catch (error) {
    if (error instanceof StateError) throw error
    throw new StateError('the state is damaged', { cause: error })
  }
}

/** The definitions of the tables are text in the file. A changed name in them would fail only at its first use. */
function checkTables(db: DatabaseSync): void {
  const fresh = new DatabaseSync(':memory:')
  try {
    fresh.exec(SCHEMA)
    if (readDefinitions(db) !== readDefinitions(fresh))
      throw new StateError('the state is damaged: the definition of a table was changed')
  } finally {
    fresh.close()
  }
}

const readDefinitions = (db: DatabaseSync): string =>
  JSON.stringify(db.prepare('select type, name, tbl_name, sql from sqlite_schema order by type, name').all())

function checkFacts(db: DatabaseSync, values: StateValues): void {
  const { facts, facts_count } = changeFacts(EMPTY_STATE_VALUES, factRows(db), [])
  if (facts !== values.facts || facts_count !== values.facts_count) {
    throw new StateError('the state is damaged: a checkpoint or a revocation was changed')
  }
}

function checkOutbox(db: DatabaseSync, values: StateValues): void {
  const row = db.prepare('select count(*) as count, coalesce(sum(sequence), 0) as sum from outbox').get()
  if (row?.['count'] !== values.pending_count || row['sum'] !== values.pending_sum) {
    throw new StateError('the state is damaged: the outbox was changed')
  }
}

export interface StateUsage {
  /** Size of the file. */
  readonly bytes: number
  /** Without free pages. */
  readonly usedBytes: number
  /** Events that the collector has not acknowledged. */
  readonly pending: number
  readonly oldestPendingAt: Instant | undefined
  /** What events add in a day, at the rate of the last one; undefined while that is unknown. */
  readonly bytesPerDay: number | undefined
}

export const NO_USAGE: StateUsage = {
  bytes: 0,
  usedBytes: 0,
  pending: 0,
  oldestPendingAt: undefined,
  bytesPerDay: undefined,
}

export interface OpenedState {
  readonly checkpoints: readonly StoredCheckpoint[]
  readonly usage: StateUsage
  /** Events that waited for a collector which is no longer configured. */
  readonly released: number
}

export interface CheckpointRequest {
  readonly checkpoint: {
    readonly network: string
    readonly issuer: string
    readonly sequence: number
    readonly issued_at: string
    readonly body: Uint8Array
  }
  /** See trust/check-list.ts. */
  readonly withdrawnChange: Uint8Array
  readonly events: readonly JsonObject[]
}

/** Two lists with one sequence. Their digests are added to the event in the state thread. */
export interface EquivocationRequest {
  readonly proof: Omit<Equivocation, 'held' | 'offered'>
  readonly held: Uint8Array
  readonly offered: Uint8Array
  readonly event: JsonObject
}

export interface PendingEvent {
  readonly sequence: number
  readonly id: string
  /** The event with its hash, as JSON. */
  readonly text: string
}

export interface PruneRequest {
  readonly limit: PruneLimit
  /** The event `audit_pruned`, without what was removed. */
  readonly event: JsonObject
}

export interface Pruned {
  readonly removed: number
  readonly usedBytes: number
}
