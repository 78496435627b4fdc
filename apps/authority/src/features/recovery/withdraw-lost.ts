import { writeSortable } from '@chancery/protocol'
import { recordAudits } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { bumpHead } from '../../store/heads.ts'
import { markAttestationRevoked } from '../attestations/index.ts'
import { markTreatyRevoked } from '../recognition-treaties/index.ts'
import { publishOwnFeed } from '../revocation-feeds/index.ts'
import type { LostRecord } from './unknown-records.ts'

/**
 * Withdraws attestations by their id, with a row or without, and signs the feed that names them; gives its number. The
 * reason is the one that the events name, or else the given one.
 */
export function withdrawAttestations(
  office: Office,
  lost: readonly LostRecord[],
  reason: string,
): Promise<number | undefined> {
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'feed')
    const now = writeSortable(office.clock.now())
    const withdrawn: { attestation_id: string; reason: string }[] = []
    for (const { id: attestation_id, revokedFor = reason } of lost) {
      const row = { attestation_id, revocation_reason: revokedFor }
      const isMarked = await markAttestationRevoked(tx, attestation_id, now, revokedFor)
      if (!isMarked)
        await tx
          .insertInto('recovered_revocations')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      withdrawn.push({ attestation_id, reason: revokedFor })
    }
    if (withdrawn.length === 0) return undefined
    const { sequence } = await publishOwnFeed(tx, office, 'revoke')
    const events = withdrawn.map((details) => ({
      type: 'membership_attestation_revoked' as const,
      details: { ...details, job: 'recover' },
    }))
    await recordAudits(tx, office, events)
    return sequence
  })
}

/** Revokes treaties again that were revoked after the backup; gives how many. */
export function revokeTreatiesAgain(office: Office, lost: readonly LostRecord[]): Promise<number> {
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'treaties')
    const now = writeSortable(office.clock.now())
    const events = []
    for (const { id: treaty_id, revokedFor: reason = 'unspecified' } of lost) {
      if (!(await markTreatyRevoked(tx, treaty_id, now, reason))) continue
      events.push({ type: 'recognition_treaty_revoked' as const, details: { treaty_id, reason, job: 'recover' } })
    }
    if (events.length === 0) return 0
    await bumpHead(tx, 'treaties')
    await recordAudits(tx, office, events)
    return events.length
  })
}
