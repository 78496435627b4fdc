import { CRL_REFRESH_MARGIN, seconds, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { recordAudits } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { isFarAhead, tellFarAhead } from '../../signing/dating.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import type { Stamps } from '../../store/database.ts'
import { checkLease, withLease } from '../../store/leases.ts'
import type { Lease } from '../../store/leases.ts'
import { findListFault } from './continuity.ts'
import { publishVersion } from './publish.ts'
import { findActiveVersion } from './store.ts'
import type { CrlVersion } from './store.ts'
import { listSuperseded } from './superseded.ts'

const LEASE_SECONDS = 120

/** Superseded certificates wait so long after the last version: renewals alone make one a minute, not one each. */
const GATHER = seconds(60)

/** When the next version is signed. */
export interface ListTimes {
  /** In any case: the list is near its end. */
  readonly refreshAt: Instant
  /** With superseded certificates to name. A revocation does not wait, and takes them along. */
  readonly gatherAt: Instant
}

/** True when the list has to be signed again. */
export function isListDue({ refreshAt, gatherAt }: ListTimes, stamps: Stamps, now: Instant): boolean {
  if (now >= refreshAt) return true
  return now >= gatherAt && stamps.nextListing !== null && stamps.nextListing <= writeSortable(now)
}

export function listTimes({ issuedAt, nextUpdate }: CrlVersion): ListTimes {
  return { refreshAt: nextUpdate - CRL_REFRESH_MARGIN, gatherAt: issuedAt + GATHER }
}

/**
 * Brings the list up to date and gives the active version: the first one, superseded certificates, the 12-hour margin.
 * Asked again under the head lock, so that of instances that see the same need one publishes.
 */
export async function keepCurrent(office: Office, details: JsonObject, lease?: Lease): Promise<CrlVersion> {
  const before = await findActiveVersion(office.store.db)
  if (
    before !== undefined &&
    (!mayMakeSignatures(office) || !isListDue(listTimes(before), await office.stamps.read(), office.clock.now()))
  )
    return before
  const { version, kept } = await office.store.transact(async (tx) => {
    if (lease !== undefined) await checkLease(tx, lease)
    await office.store.lockHead(tx, 'crl')
    const previous = await findActiveVersion(tx)
    const now = office.clock.now()
    const isOld = previous !== undefined && now >= listTimes(previous).refreshAt
    const isGathered = previous !== undefined && now >= listTimes(previous).gatherAt
    const appended = isOld || isGathered ? await listSuperseded(tx, office) : []
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

/** A fault ends when the rows are whole again, whether or not a list is due. */
async function checkRows(office: Office): Promise<void> {
  if ((await findListFault(office.store, office.ownKeys, office.clock.now())) === undefined)
    office.recordFaults.clear('crl')
}

/** Every minute on one instance: a list nobody reads must not run out, nor a superseded certificate wait for a reader. */
export async function refreshList(office: Office): Promise<void> {
  if (!mayMakeSignatures(office)) return
  if (office.recordFaults.has('crl')) await checkRows(office)
  await withLease(office, 'crl-upkeep', LEASE_SECONDS, async (lease) => {
    const { issuedAt } = await keepCurrent(office, { job: 'crl-upkeep' }, lease)
    // Nothing is due for as long as it was dated ahead, and nobody accepts it: told every minute, not only when a next
    // one is signed.
    if (isFarAhead(issuedAt, office.clock.now())) tellFarAhead(office, 'crl', issuedAt)
  })
}
