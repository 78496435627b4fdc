import { CRL_REFRESH_MARGIN, type Instant, type JsonObject, seconds, writeSortable } from '@chancery/protocol'
import { setCurrent } from './current-entries.ts'
import type { CrlState } from './state.ts'
import type { CrlParts } from './parts.ts'
import { isInFuture, reportInFuture } from '../../clock/date-after.ts'
import type { Versions } from '../../database/locks/versions.ts'
import { type Lease, checkLease, withLease } from '../../database/locks/leases.ts'
import { findListFault } from './continuity.ts'
import { publishVersion } from './publish.ts'
import { type CrlVersion, findActiveVersion } from './queries.ts'
import { addSuperseded } from './superseded.ts'

const LEASE_SECONDS = 120

/** Superseded certificates wait this long after the last version, so that renewals alone cause one version a minute. */
const GATHER = seconds(60)

/** When the next version is signed. */
export interface ListTimes {
  /** Always: the list is near its end. */
  readonly refreshAt: Instant
  /** If there are superseded certificates to list. A revocation does not wait, and includes them. */
  readonly gatherAt: Instant
}

/** Returns whether the list has to be signed again. */
export function isListDue({ refreshAt, gatherAt }: ListTimes, versions: Versions, now: Instant): boolean {
  if (now >= refreshAt) return true
  return now >= gatherAt && versions.nextListing !== null && versions.nextListing <= writeSortable(now)
}

export function listTimes({ issuedAt, nextUpdate }: CrlVersion): ListTimes {
  return { refreshAt: nextUpdate - CRL_REFRESH_MARGIN, gatherAt: issuedAt + GATHER }
}

/**
 * Updates the list if due and returns the active version: the first list, superseded certificates, the 12-hour margin.
 * Checked again under the lock, so that only one of several instances publishes.
 */
export async function refreshIfDue(parts: CrlState, details: JsonObject, lease?: Lease): Promise<CrlVersion> {
  const before = await findActiveVersion(parts.database.read)
  if (
    before !== undefined &&
    (!parts.signing.isAllowed() || !isListDue(listTimes(before), await parts.versions.read(), parts.clock.now()))
  )
    return before
  const { version, stored } = await parts.database.write(async (tx) => {
    if (lease !== undefined) await checkLease(tx, lease)
    await tx.lock('crl')
    const previous = await findActiveVersion(tx.query)
    const now = parts.clock.now()
    const isOld = previous !== undefined && now >= listTimes(previous).refreshAt
    const isGathered = previous !== undefined && now >= listTimes(previous).gatherAt
    const appended = isOld || isGathered ? await addSuperseded(tx, parts) : []
    if (previous !== undefined && appended.length === 0 && !isOld) return { version: previous, stored: undefined }
    const sequence = previous === undefined ? 0 : previous.sequence + 1
    const cause = appended.length > 0 ? ('superseded' as const) : ('refresh' as const)
    const published = await publishVersion(tx, parts, previous, sequence, {
      cause,
      appended,
      rewritten: false,
      details,
    })
    const events = appended.map(({ cert_id }) => ({
      type: 'certificate_revoked' as const,
      details: { cert_id, reason: 'superseded', crl_sequence: sequence, ...details },
    }))
    await parts.audit.recordAll(tx, events)
    return published
  })
  if (stored !== undefined) setCurrent(parts, stored)
  return version
}

/** The fault is cleared when the rows are complete again, whether or not a list is due. */
async function checkRows(parts: CrlParts): Promise<void> {
  if ((await findListFault(parts.database, parts.keys, parts.clock.now())) === undefined)
    parts.recordFaults.clear('crl')
}

/**
 * Runs every minute on one instance, so that the list does not expire, and superseded certificates are listed, without
 * readers.
 */
export async function refreshList(parts: CrlState): Promise<void> {
  if (!parts.signing.isAllowed()) return
  if (parts.recordFaults.has('crl')) await checkRows(parts)
  await withLease(parts, 'crl-upkeep', LEASE_SECONDS, async (lease) => {
    const { issuedAt } = await refreshIfDue(parts, { job: 'crl-upkeep' }, lease)
    // While the list is dated in the future, no list is due and verifiers refuse it. Reported every minute, not only
    // when the next list is signed.
    if (isInFuture(issuedAt, parts.clock.now())) reportInFuture(parts, 'crl', issuedAt)
  })
}
