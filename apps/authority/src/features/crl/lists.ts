import {
  CRL_VALIDITY,
  canonicalJson,
  readInstant,
  toBase64,
  toUtf8,
  verifySignature,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { CrlEntry, Instant, JsonObject, RevocationReason, Signer } from '@chancery/protocol'
import { type Reader, type Transaction, assertStored } from '../../database/database.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'
import { requireLiving } from './continuity.ts'
import { type NewEntry, joinFormerEntries, rewriteEntry } from './queries.ts'
import { readEntry, signedEntries } from './signed-list.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'
import { sql } from 'kysely'
import { digestOfList } from '../../rollback/positions.ts'
import { type RevocableCertificate, raiseReason } from '../enrollment/index.ts'

export interface CrlParts
  extends
    FeatureBase,
    Pick<
      Core,
      | 'clockCheck'
      | 'findKey'
      | 'instance'
      | 'newestBlock'
      | 'purgeClock'
      | 'reads'
      | 'recordFaults'
      | 'rollback'
      | 'versions'
    > {
  readonly publishedDocuments: PublishedDocuments
}

/** The members of a version besides its entries. */
export interface CrlHeader {
  readonly crl_id: string
  readonly sequence: number
  readonly issuer: string
  readonly issuedAt: Instant
}

/** One entry in its signed form. */
export function entryText(entry: CrlEntry): string {
  return canonicalJson(entry)
}

/**
 * Builds C(list without signatures) from serialised entries. For 100,000 entries this is an append and a join instead
 * of parsing and sorting 14 MB. The members are in canonical order; a test compares both ways.
 */
export function listText(header: CrlHeader, entries: string): string {
  const text = (value: string): string => canonicalJson(value)
  return (
    `{"crl_id":${text(header.crl_id)},"issued_at":${text(writeInstant(header.issuedAt))},"issuer":${text(header.issuer)},` +
    `"next_update":${text(writeInstant(header.issuedAt + CRL_VALIDITY))},"revoked_certificates":[${entries}],` +
    `"sequence":${header.sequence}}`
  )
}

/**
 * Signs the list of the former key. It is signed in the transaction of every version of the current list, with the same
 * sequence, until the last certificate of that key has ended (decision 0006). It has the revoked certificates that this
 * key issued.
 */
export async function publishFormerList(
  tx: Transaction,
  parts: CrlParts,
  { sequence, issuedAt }: { readonly sequence: number; readonly issuedAt: Instant },
): Promise<void> {
  const live = await findLiveFormerKey(tx.query, issuedAt)
  if (live === undefined) return
  const { formerSigner } = parts.keys
  // The start refuses without this key. It may have been removed since.
  if (formerSigner?.publicKey !== live.public_key) throw new Error('the former key is not available')
  const entries = await joinFormerEntries(parts.database, tx.query, formerSigner.keyId, parts.signing.keyId)
  const last = await findFormerList(tx.query, formerSigner.keyId)
  if (last !== undefined) {
    const before = await signedEntries(last.crl_json, last.sequence, [formerSigner.publicKey])
    await requireLiving(tx.query, parts, { before, entries, now: parts.clock.now() })
  }
  const header = { crl_id: parts.ids.uuid(), sequence, issuer: formerSigner.keyId, issuedAt }
  const crl_json = await signList(formerSigner, listText(header, entries))
  const next_update = writeSortable(issuedAt + CRL_VALIDITY)
  const stored = await tx.query
    .insertInto('former_crl_versions')
    .values({ key_id: formerSigner.keyId, sequence, crl_json, next_update })
    .returning('crl_json')
    .executeTakeFirst()
  assertStored(crl_json, stored?.crl_json)
}

export async function findFormerList(
  db: Reader,
  key_id: string,
): Promise<{ readonly sequence: number; readonly crl_json: string; readonly next_update: string } | undefined> {
  return db
    .selectFrom('former_crl_versions')
    .select(['sequence', 'crl_json', 'next_update'])
    .where('key_id', '=', key_id)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** A list as a key signs it, verified before it is published. */
export async function signList(signer: Signer, body: string): Promise<string> {
  const message = toUtf8(body)
  const sig = toBase64(await signer.sign(message))
  if (!(await verifySignature(signer.publicKey, message, sig)))
    throw new Error('the key produced a signature that does not verify')
  return `${body.slice(0, -1)},"signatures":[${writeJson({ key_id: signer.keyId, sig })}]}`
}

const MAX_REMOVED = 20

/**
 * While the reserve of the disk is in use, a list replaces the one before it: each contains all entries, so a thousand
 * of them would not fit. Sequence and digest stay. Lists of before stay whole.
 */
export async function removeReservedLists(tx: Transaction, parts: CrlParts, newest: number): Promise<void> {
  const ms = parts.database.room.reserveInUseMs
  if (ms === undefined) return
  const since = writeSortable(parts.clock.now() - BigInt(Math.ceil(ms)) * 1000n)
  const rows = await tx.query
    .selectFrom('crl_versions')
    .select(['sequence', 'crl_json', 'digest'])
    .where('sequence', '<', newest)
    .where('sequence', '!=', parts.rollback.mark?.crl?.sequence ?? -1)
    .where('issued_at', '>=', since)
    .orderBy('sequence')
    .limit(MAX_REMOVED)
    .execute()
  if (rows.length === 0) return
  const removed_at = writeSortable(parts.clock.now())
  const sequences = rows.map(({ sequence }) => sequence)
  await tx.query
    .insertInto('removed_crl_versions')
    .values(rows.map((row) => ({ sequence: row.sequence, digest: digestOfList(row), removed_at })))
    .execute()
  await tx.query.deleteFrom('crl_versions').where('sequence', 'in', sequences).execute()
  await tx.query.deleteFrom('former_crl_versions').where('sequence', 'in', sequences).execute()
  // Segments that no stored version has.
  await sql`delete from crl_segments where replaced_by is not null and not exists (select 1 from crl_versions v
    where v.sequence >= crl_segments.sequence and v.sequence < crl_segments.replaced_by)`.execute(tx.query)
}

/** The revocation is stored already: a failure only costs room. */
export async function reclaimRoom({ database, log }: CrlParts): Promise<void> {
  try {
    await database.room.reclaim()
  } catch (error) {
    log.warn('the room of removed lists could not be reclaimed', { error })
  }
}

/** The changes of all requests that share one version. */
export interface BatchChanges {
  readonly entries: Map<string, NewEntry>
  readonly events: JsonObject[]
  /** Positions of listed entries with another reason. */
  readonly rewrittenAt: number[]
  /** The list is signed again from all rows. */
  isSignedAgain: boolean
}

/**
 * The list names the certificate although its row says that it is in use: the row was edited. The row is corrected, the
 * entry stays, with the more serious reason, and the list is signed again so that the event has its sequence.
 */
export async function relist(
  tx: Transaction,
  parts: CrlParts,
  certificate: RevocableCertificate,
  entry: string,
  { changes, reason, cause }: { changes: BatchChanges; reason: RevocationReason; cause: JsonObject },
): Promise<void> {
  const { cert_id } = certificate
  const was = readEntry(entry)
  if (reason === 'key_compromise' && was?.reason !== reason)
    return raise(tx, parts, { ...certificate, revoked_at: was?.revoked_at ?? null }, changes, cause)
  changes.isSignedAgain = true
  changes.events.push({ cert_id, reason, ...cause })
}

/** Not for a certificate that a restore has lost, because it had no row. */
export function reportRolledBack({ log }: CrlParts, { cert_id }: RevocableCertificate): void {
  log.error('a revoked certificate was in use again in the database', { alarm: true, cert_id })
}

/** Changes the reason of a revoked certificate to key_compromise. The entry keeps its position and time. */
export async function raise(
  tx: Transaction,
  parts: CrlParts,
  certificate: RevocableCertificate,
  changes: BatchChanges,
  cause: JsonObject,
): Promise<void> {
  const revokedAt = readInstant(certificate.revoked_at ?? '') ?? parts.clock.now()
  await raiseReason(tx, certificate.cert_id)
  const raised = toEntry(parts, certificate, writeInstant(revokedAt), 'key_compromise')
  // Revoked by an earlier request of the same batch: its entry is not stored yet.
  if (changes.entries.has(certificate.cert_id)) changes.entries.set(certificate.cert_id, raised)
  else {
    const positions = await rewriteEntry(tx, raised)
    changes.rewrittenAt.push(...positions)
    // Without a row there is nothing to read: the list is compared with all rows, and reports it.
    if (positions.length === 0) changes.isSignedAgain = true
  }
  changes.events.push({ cert_id: certificate.cert_id, reason: 'key_compromise', ...cause })
}

export function toEntry(
  parts: CrlParts,
  certificate: RevocableCertificate,
  revoked_at: string,
  reason: RevocationReason,
): NewEntry {
  const entry = { certificate_id: certificate.cert_id, revoked_at, reason, issuer: parts.signing.keyId }
  return { cert_id: certificate.cert_id, entry_json: entryText(entry), expires_at: certificate.expires_at }
}
