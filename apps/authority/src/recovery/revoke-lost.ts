import { writeSortable } from '@chancery/protocol'
import type { RecoveryParts } from './parts.ts'
import { markAttestationRevoked } from '../features/attestations/index.ts'
import { markTreatyRevoked } from '../features/recognition-treaties/index.ts'
import type { LostRecord } from './unknown-records.ts'

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
