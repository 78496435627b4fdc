import { type JsonObject, type RevocationReason, readInstant, writeInstant } from '@chancery/protocol'
import type { CrlParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import { type RevocableCertificate, raiseReason } from '../enrollment/index.ts'
import { entryText } from './list-text.ts'
import { readEntry } from './signed-list.ts'
import { type NewEntry, rewriteEntry } from './queries.ts'

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
