import type { DatabaseSync } from 'node:sqlite'
import { type FactRow, changeFacts, readStateValues, writeStateValues } from './state-values.ts'

/** A revocation that an earlier list named and a later list does not. */
export interface WithdrawnEntry {
  readonly certificate_id: string
  readonly reason: string
  readonly revoked_at: string
}

/** In place of an issuer: the row has the followed keys of a network (trust/followed-keys.ts) and no list. */
export const KEYS_ROW = ''

/** The last used list of one issuer, with the withdrawn revocations. */
export interface StoredCheckpoint {
  readonly network: string
  readonly issuer: string
  readonly sequence: number
  readonly issued_at: string
  readonly suspect: boolean
  /** The full signed list. */
  readonly body: string
  readonly withdrawn: readonly WithdrawnEntry[]
}

interface CheckpointRow {
  readonly network: string
  readonly issuer: string
  readonly sequence: number
  readonly issued_at: string
  readonly suspect: number
  readonly body: string
}

export interface CheckpointChange {
  readonly network: string
  readonly issuer: string
  readonly sequence: number
  readonly issued_at: string
  readonly body: string
  readonly gained: readonly WithdrawnEntry[]
  readonly lost: readonly string[]
}

export function readCheckpoints(db: DatabaseSync): StoredCheckpoint[] {
  const rows = db.prepare('select * from checkpoints order by network, issuer').all() as unknown as CheckpointRow[]
  const entries = db.prepare(
    'select certificate_id, reason, revoked_at from withdrawn where network = ? and issuer = ?',
  )
  return rows.map((row) => ({
    ...row,
    suspect: row.suspect === 1,
    withdrawn: entries.all(row.network, row.issuer) as unknown as WithdrawnEntry[],
  }))
}

/** Writes the list, the withdrawn revocations and their digests inside the caller's transaction. */
export function writeCheckpoint(db: DatabaseSync, change: CheckpointChange): void {
  const { network, issuer } = change
  const before = findCheckpoint(db, network, issuer)
  const after: CheckpointRow = { ...pick(change), suspect: before?.suspect ?? 0 }
  const removed: FactRow[] = before === undefined ? [] : [factOf(before)]
  const added: FactRow[] = [factOf(after)]
  putCheckpoint(db, after)
  const remove = (certificateId: string): void => {
    const row = removeWithdrawn(db, network, issuer, certificateId)
    if (row !== undefined) removed.push(row)
  }
  const put = db.prepare(
    'insert into withdrawn (network, issuer, certificate_id, reason, revoked_at) values (?, ?, ?, ?, ?)',
  )
  for (const certificateId of change.lost) remove(certificateId)
  for (const entry of change.gained) {
    remove(entry.certificate_id)
    put.run(network, issuer, entry.certificate_id, entry.reason, entry.revoked_at)
    added.push(factOfWithdrawn(network, issuer, entry))
  }
  writeStateValues(db, changeFacts(readStateValues(db), added, removed))
}

export interface Equivocation {
  readonly network: string
  readonly issuer: string
  readonly sequence: number
  readonly seen_at: string
  readonly held: string
  readonly offered: string
}

/**
 * Proofs stored per issuer. One proof is enough against an authority. A compromised authority could sign another every
 * minute, each as large as two lists, until the state is full. Further proofs are audited by digest.
 */
const PROOFS_PER_ISSUER = 8

/** Stores the proof that an authority signed two lists with one sequence, and marks it until an operator clears it. */
export function writeEquivocation(db: DatabaseSync, proof: Equivocation): void {
  const { network, issuer, sequence, seen_at, held, offered } = proof
  // A repeated proof adds nothing, and a malicious server must not fill the disk with it.
  const known = db
    .prepare('select 1 from equivocations where network = ? and issuer = ? and sequence = ? and offered = ?')
    .get(network, issuer, sequence, offered)
  const stored = db
    .prepare('select count(*) as count from equivocations where network = ? and issuer = ?')
    .get(network, issuer)
  if (known === undefined && Number(stored?.['count']) < PROOFS_PER_ISSUER) {
    db.prepare(
      'insert into equivocations (network, issuer, sequence, seen_at, held, offered) values (?, ?, ?, ?, ?, ?)',
    ).run(network, issuer, sequence, seen_at, held, offered)
    const fact: FactRow = ['equivocations', network, issuer, sequence, seen_at, held, offered]
    writeStateValues(db, changeFacts(readStateValues(db), [fact], []))
  }
  setSuspect(db, network, issuer, true)
}

/** Marks or clears an issuer. Returns false when there is no such checkpoint. */
export function setSuspect(db: DatabaseSync, network: string, issuer: string, isSuspect: boolean): boolean {
  const before = findCheckpoint(db, network, issuer)
  if (before === undefined) return false
  const after = { ...before, suspect: isSuspect ? 1 : 0 }
  putCheckpoint(db, after)
  writeStateValues(db, changeFacts(readStateValues(db), [factOf(after)], [factOf(before)]))
  return true
}

/** Removes one withdrawn revocation inside the caller's transaction. Returns false when there is none. */
export function releaseWithdrawn(db: DatabaseSync, network: string, issuer: string, certificateId: string): boolean {
  const row = removeWithdrawn(db, network, issuer, certificateId)
  if (row === undefined) return false
  writeStateValues(db, changeFacts(readStateValues(db), [], [row]))
  return true
}

function removeWithdrawn(
  db: DatabaseSync,
  network: string,
  issuer: string,
  certificateId: string,
): FactRow | undefined {
  const row = db
    .prepare(
      'delete from withdrawn where network = ? and issuer = ? and certificate_id = ? returning reason, revoked_at',
    )
    .get(network, issuer, certificateId) as Omit<WithdrawnEntry, 'certificate_id'> | undefined
  return row === undefined ? undefined : factOfWithdrawn(network, issuer, { certificate_id: certificateId, ...row })
}

/** Yields every fact row, to verify the digest in `ledger`. */
export function* factRows(db: DatabaseSync): Generator<FactRow> {
  for (const row of db.prepare('select * from checkpoints').iterate()) yield factOf(row as unknown as CheckpointRow)
  for (const row of db.prepare('select * from withdrawn').iterate()) {
    const { network, issuer, ...entry } = row as unknown as { network: string; issuer: string } & WithdrawnEntry
    yield factOfWithdrawn(network, issuer, entry)
  }
  for (const row of db.prepare('select * from equivocations').iterate()) {
    const { network, issuer, sequence, seen_at, held, offered } = row as unknown as Equivocation
    yield ['equivocations', network, issuer, sequence, seen_at, held, offered]
  }
}

function findCheckpoint(db: DatabaseSync, network: string, issuer: string): CheckpointRow | undefined {
  const row = db.prepare('select * from checkpoints where network = ? and issuer = ?').get(network, issuer)
  return row as unknown as CheckpointRow | undefined
}

function putCheckpoint(db: DatabaseSync, row: CheckpointRow): void {
  db.prepare(
    'insert or replace into checkpoints (network, issuer, sequence, issued_at, suspect, body) values (?, ?, ?, ?, ?, ?)',
  ).run(row.network, row.issuer, row.sequence, row.issued_at, row.suspect, row.body)
}

function pick({ network, issuer, sequence, issued_at, body }: CheckpointChange): Omit<CheckpointRow, 'suspect'> {
  return { network, issuer, sequence, issued_at, body }
}

function factOf(row: CheckpointRow): FactRow {
  return ['checkpoints', row.network, row.issuer, row.sequence, row.issued_at, row.suspect, row.body]
}

function factOfWithdrawn(network: string, issuer: string, entry: WithdrawnEntry): FactRow {
  return ['withdrawn', network, issuer, entry.certificate_id, entry.reason, entry.revoked_at]
}
