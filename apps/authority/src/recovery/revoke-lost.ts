import { type Instant, REVOCATION_REASONS, type RevocationReason, writeSortable } from '@chancery/protocol'
import { markAttestationRevoked } from '../features/attestations/index.ts'
import { markTreatyRevoked } from '../features/recognition-treaties/index.ts'
import type { LostEvent, LostRecord } from './unknown-records.ts'
import type { Core } from '../core.ts'
import type { Crl } from '../features/crl/index.ts'
import type { RevocationFeeds } from '../features/revocation-feeds/index.ts'
import type { Reader } from '../database/database.ts'

export interface RecoveryParts extends Pick<
  Core,
  'audit' | 'clock' | 'clockCheck' | 'database' | 'keys' | 'network' | 'rollback'
> {
  readonly crl: Crl
  readonly revocationFeeds: RevocationFeeds
}

/**
 * Revokes attestations by id, with a row or without, and signs the feed that names them. Returns its sequence. The
 * reason is that of the events, or else the given one.
 */
export function revokeAttestations(
  parts: RecoveryParts,
  lost: readonly LostRecord[],
  reason: string,
): Promise<number | undefined> {
  return parts.database.write(async (tx) => {
    await tx.lock('feed')
    const now = writeSortable(parts.clock.now())
    const revoked: { attestation_id: string; reason: string }[] = []
    for (const { id: attestation_id, revokedFor = reason } of lost) {
      const row = { attestation_id, revocation_reason: revokedFor }
      const isMarked = await markAttestationRevoked(tx, attestation_id, now, revokedFor)
      if (!isMarked)
        await tx.query
          .insertInto('recovered_revocations')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      revoked.push({ attestation_id, reason: revokedFor })
    }
    if (revoked.length === 0) return undefined
    const { sequence } = await parts.revocationFeeds.publishOwnFeed(tx, 'revoke')
    const events = revoked.map((details) => ({
      type: 'membership_attestation_revoked' as const,
      details: { ...details, job: 'recover' },
    }))
    await parts.audit.recordAll(tx, events)
    return sequence
  })
}

/** Revokes treaties again that were revoked after the backup. Returns their number. */
export function revokeTreatiesAgain(parts: RecoveryParts, lost: readonly LostRecord[]): Promise<number> {
  return parts.database.write(async (tx) => {
    await tx.lock('treaties')
    const now = writeSortable(parts.clock.now())
    const events = []
    for (const { id: treaty_id, revokedFor: reason = 'unspecified' } of lost) {
      if (!(await markTreatyRevoked(tx, treaty_id, now, reason))) continue
      events.push({ type: 'recognition_treaty_revoked' as const, details: { treaty_id, reason, job: 'recover' } })
    }
    if (events.length === 0) return 0
    await tx.raiseVersion('treaties')
    await parts.audit.recordAll(tx, events)
    return events.length
  })
}

const AT_ONCE = 500

/** A certificate of the database that is revoked in an audit event. */
export interface RevokedElsewhere {
  readonly cert_id: string
  readonly revokedFor: RevocationReason
}

/** Revocations of certificates in audit events that the database lacks: the saved list may be older. */
export class ReportedRevocations {
  readonly #reasons = new Map<string, RevocationReason>()

  add({ type, details }: LostEvent): void {
    const { cert_id } = details
    if (type !== 'certificate_revoked' || typeof cert_id !== 'string') return
    const reason = REVOCATION_REASONS.find((each) => each === details['reason']) ?? 'unspecified'
    // key_compromise wins over every other reason.
    if (this.#reasons.get(cert_id) !== 'key_compromise') this.#reasons.set(cert_id, reason)
  }

  reasonOf(cert_id: string): RevocationReason | undefined {
    return this.#reasons.get(cert_id)
  }

  /** Certificates that are valid again in the database. */
  async findValidAgain(db: Reader, now: Instant): Promise<readonly RevokedElsewhere[]> {
    const found: RevokedElsewhere[] = []
    const all = [...this.#reasons.keys()].sort()
    for (let at = 0; at < all.length; at += AT_ONCE) {
      const rows = await db
        .selectFrom('issued_certs')
        .select('cert_id')
        .where('cert_id', 'in', all.slice(at, at + AT_ONCE))
        .where('status', '=', 'issued')
        .where('expires_at', '>', writeSortable(now))
        .orderBy('cert_id')
        .execute()
      for (const { cert_id } of rows) found.push({ cert_id, revokedFor: this.reasonOf(cert_id) ?? 'unspecified' })
    }
    return found
  }
}
