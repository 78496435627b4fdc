import {
  logIdentityForm,
  openCheckpoint,
  readJson,
  readReceived,
  signCheckpoint,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { ChainedEntry, LogCheckpoint, LogIdentity, Signer } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Evidence } from '../evidence/index.ts'

export interface EvidenceLogParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'instance'
  | 'isServing'
  | 'keys'
  | 'log'
  | 'logSigners'
  | 'network'
  | 'reads'
  | 'recordFaults'
  | 'rollback'
  | 'signing'
> {
  readonly settings: Pick<
    AuthoritySettings,
    'evidenceStore' | 'extraRoots' | 'logOrigin' | 'logQuorum' | 'logWitnesses'
  >
  readonly evidence: Pick<Evidence, 'subscribe'>
}

export async function findIdentity(db: Reader): Promise<LogIdentity | undefined> {
  const row = await db.selectFrom('evidence_log_identity').select('record_json').executeTakeFirst()
  return row === undefined ? undefined : readReceived(logIdentityForm, readJson(row.record_json)).record
}

/** True when the signed identity names this log with its current keys. */
export async function isIdentityCurrent(db: Reader, parts: EvidenceLogParts, origin: string): Promise<boolean> {
  const stored = await findIdentity(db)
  if (stored === undefined) return false
  const keys = parts.logSigners.map(({ publicKey }) => publicKey)
  const isSame = stored.origin === origin && stored.public_keys.join() === keys.join()
  return isSame && stored.issued_by === parts.signing.keyId && stored.sovereign_id === parts.network.name
}

/** Signs name and keys of the log with the key of the authority: readers trust a log key only through this record. */
export async function storeIdentity(tx: Transaction, parts: EvidenceLogParts, origin: string): Promise<void> {
  if (await isIdentityCurrent(tx.query, parts, origin)) return
  const record = await parts.signing.signForm(logIdentityForm, {
    sovereign_id: parts.network.name,
    origin,
    public_keys: parts.logSigners.map(({ publicKey }) => publicKey),
    issued_at: writeInstant(parts.clock.now()),
    issued_by: parts.signing.keyId,
    signature: null,
  })
  const record_json = writeJson(record)
  await tx.query
    .insertInto('evidence_log_identity')
    .values({ id: 1, record_json })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ record_json }))
    .execute()
}

/**
 * All signers of a checkpoint: the keys of the log, then the authority. The line of the authority stays, so that
 * readers who hold only the genesis block verify the log as before a log key was set.
 */
export function signersOf({
  logSigners,
  signing,
}: Pick<EvidenceLogParts, 'logSigners' | 'signing'>): readonly Signer[] {
  return [...logSigners, signing.signer]
}

/** Signs, and verifies each line before the note is used. */
export async function signNote(checkpoint: LogCheckpoint, parts: EvidenceLogParts): Promise<string> {
  const note = await signCheckpoint(checkpoint, ...signersOf(parts))
  if (!(await isSignedByAll(note, checkpoint.origin, parts)))
    throw new Error('the signing key produced a note that does not verify')
  return note
}

/** True when every current key signed the note under this name. */
export async function isSignedByAll(note: string, origin: string, parts: EvidenceLogParts): Promise<boolean> {
  for (const { publicKey } of signersOf(parts))
    if ((await openCheckpoint(note, origin, publicKey)) === undefined) return false
  return true
}

/** Maximum number of characters in the cache. Above it the oldest lines are dropped. */
const MAX_CHARACTERS = 16 * 1024 * 1024

/**
 * Caches the newest lines that this process serialised and hashed. A row with exactly this text needs no second check
 * before it enters the log, because its digest was computed from that text. Other rows are read and checked.
 */
export class RecentEntries {
  readonly #entries = new Map<number, ChainedEntry>()
  #characters = 0

  add(entries: readonly ChainedEntry[]): void {
    for (const each of entries) {
      this.#drop(each.entry.store_sequence)
      this.#entries.set(each.entry.store_sequence, each)
      this.#characters += each.line.length
    }
    for (const sequence of this.#entries.keys()) {
      if (this.#characters <= MAX_CHARACTERS) break
      this.#drop(sequence)
    }
  }

  find(sequence: number): ChainedEntry | undefined {
    return this.#entries.get(sequence)
  }

  /** Drops lines that are in the log. */
  drop(through: number): void {
    for (const sequence of this.#entries.keys()) {
      if (sequence > through) break
      this.#drop(sequence)
    }
  }

  #drop(sequence: number): void {
    this.#characters -= this.#entries.get(sequence)?.line.length ?? 0
    this.#entries.delete(sequence)
  }
}
