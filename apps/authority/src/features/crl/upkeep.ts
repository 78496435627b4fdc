import { CRL_REFRESH_MARGIN, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { recordAudits } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { isFarAhead, tellFarAhead } from '../../signing/dating.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import type { Stamps } from '../../store/database.ts'
import { checkLease, withLease } from '../../store/leases.ts'
import type { Lease } from '../../store/leases.ts'
import { publishVersion } from './publish.ts'
import { findActiveVersion } from './store.ts'
import type { CrlVersion } from './store.ts'
import { listSuperseded } from './superseded.ts'

const LEASE_SECONDS = 120

/** True when the list has to be signed anew: near its end, or with a superseded certificate to name. */
export function isListDue(refreshAt: Instant, stamps: Stamps, now: Instant): boolean {
  return now >= refreshAt || (stamps.nextListing !== null && stamps.nextListing <= writeSortable(now))
}

export function refreshTime(version: CrlVersion): Instant {
  return version.nextUpdate - CRL_REFRESH_MARGIN
}

/**
 * Brings the list up to date and gives the active version: the first one, superseded certificates, the 12-hour margin.
 * Asked again under the head lock, so that of instances that see the same need one publishes.
 */
export async function keepCurrent(office: Office, details: JsonObject, lease?: Lease): Promise<CrlVersion> {
  const before = await findActiveVersion(office.store.db)
  if (
    before !== undefined &&
    (!mayMakeSignatures(office) || !isListDue(refreshTime(before), await office.stamps.read(), office.clock.now()))
  )
    return before
  const { version, kept } = await office.store.transact(async (tx) => {
    if (lease !== undefined) await checkLease(tx, lease)
    await office.store.lockHead(tx, 'crl')
    const previous = await findActiveVersion(tx)
    const appended = previous === undefined ? [] : await listSuperseded(tx, office)
    const isOld = previous !== undefined && office.clock.now() >= refreshTime(previous)
    if (previous !== undefined && appended.length === 0 && !isOld) return { version: previous, kept: undefined }
    const sequence = previous === undefined ? 0 : previous.sequence + 1
    const cause = appended.length > 0 ? ('superseded' as const) : ('refresh' as const)
    const published = await publishVersion(tx, office, previous, sequence, {
      cause,
      appended,
      rewritten: false,
      details,
    })
    const events = appended.map(({ cert_id }) => ({
      type: 'certificate_revoked' as const,
      details: { cert_id, reason: 'superseded', crl_sequence: sequence, ...details },
    }))
    await recordAudits(tx, office, events)
    return published
  })
  if (kept !== undefined) office.crl.remember(kept)
  return version
}

/** Every minute on one instance: a list nobody reads must not run out, nor a superseded certificate wait for a reader. */
export async function refreshList(office: Office): Promise<void> {
  if (!mayMakeSignatures(office)) return
  await withLease(office, 'crl-upkeep', LEASE_SECONDS, async (lease) => {
    const { issuedAt } = await keepCurrent(office, { job: 'crl-upkeep' }, lease)
    // Nothing is due for as long as it was dated ahead, and nobody accepts it: told every minute, not only when a next
    // one is signed.
    if (isFarAhead(issuedAt, office.clock.now())) tellFarAhead(office, 'crl', issuedAt)
  })
}
