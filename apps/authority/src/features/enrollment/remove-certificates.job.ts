import { CRL_VALIDITY, DAY, type Instant, readInstant, writeInstant, writeSortable } from '@chancery/protocol'
import type { EnrollmentParts } from './present.ts'
import { noteRemoved } from '../../database/certificate-counts.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { withLease } from '../../database/locks/leases.ts'

/** Rows per transaction: few enough that waiting revocations are hardly delayed. */
const ROWS = 500
/** Rows per run: 100,000, about 14 million a day. */
const MAX_BATCHES = 200
const LEASE_SECONDS = 300

interface Place {
  readonly expires_at: string
  readonly cert_id: string
}

/**
 * Removes certificates a number of days after their end. These stay: a certificate of a compromised key, permanently,
 * because that key is refused permanently; one that the revocation list or a stored list may name; one that waits for
 * the list; one with a liveness row, which is removed first. Counters store the number of removed rows, so that the
 * high-water mark does not report a rolled back database.
 */
export async function removeCertificates(parts: EnrollmentParts, signal: AbortSignal): Promise<void> {
  const { certificateKeptDays } = parts.settings
  if (certificateKeptDays === 0) return
  const cutoff = parts.purgeClock.daily.now() - BigInt(certificateKeptDays) * DAY
  await withLease(parts, 'certificate-removal', LEASE_SECONDS, async () => {
    let last: Place | undefined = { expires_at: '', cert_id: '' }
    for (let batch = 0; batch < MAX_BATCHES && last !== undefined && !signal.aborted; batch += 1)
      last = await removeSome(parts, cutoff, last)
  })
}

/** Removes one batch. Returns the position to continue from, or undefined at the end. */
async function removeSome(parts: EnrollmentParts, cutoff: Instant, after: Place): Promise<Place | undefined> {
  return parts.database.write(async (tx) => {
    // Revocations need this lock, so none can raise the reason of a row between check and removal.
    await tx.lock('crl')
    const bound = await oldestNamed(tx.query, cutoff)
    const rows = await listRemovable(tx.query, bound, after)
    if (rows.length === 0) return undefined
    const revoked = rows.filter(({ status }) => status === 'revoked').length
    await tx.query
      .deleteFrom('issued_certs')
      .where(
        'cert_id',
        'in',
        rows.map(({ cert_id }) => cert_id),
      )
      .execute()
    await removeLabels(
      tx,
      rows.map(({ node_public_key }) => node_public_key),
    )
    await noteRemoved(tx, { certificates: rows.length, revoked })
    await parts.audit.record(tx, {
      type: 'certificates_removed',
      details: { count: rows.length, revoked_count: revoked, ended_before: writeInstant(bound), job: 'retention' },
    })
    return rows.length < ROWS ? undefined : rows.at(-1)
  })
}

/** A label ends with the last certificate of its key. */
async function removeLabels(tx: Transaction, keys: readonly string[]): Promise<void> {
  await tx.query
    .deleteFrom('node_labels')
    .where('node_public_key', 'in', keys)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('issued_certs as c')
            .select('c.cert_id')
            .whereRef('c.node_public_key', '=', 'node_labels.node_public_key'),
        ),
      ),
    )
    .execute()
}

/** A stored list names certificates that ended at most an hour before it was signed. One day is added. */
async function oldestNamed(tx: Reader, cutoff: Instant): Promise<Instant> {
  const oldest = await tx
    .selectFrom('crl_versions')
    .select((eb) => eb.fn.min('next_update').as('next_update'))
    .executeTakeFirst()
  const end = readInstant(oldest?.next_update ?? '')
  if (end === undefined) return cutoff
  const named = end - CRL_VALIDITY - DAY
  return named < cutoff ? named : cutoff
}

function listRemovable(
  tx: Reader,
  bound: Instant,
  after: Place,
): Promise<readonly (Place & { readonly status: string; readonly node_public_key: string })[]> {
  return tx
    .selectFrom('issued_certs as c')
    .select(['c.cert_id', 'c.expires_at', 'c.status', 'c.node_public_key'])
    .where('c.expires_at', '<', writeSortable(bound))
    .where('c.expires_at', '>=', after.expires_at)
    .where((eb) => eb.or([eb('c.expires_at', '>', after.expires_at), eb('c.cert_id', '>', after.cert_id)]))
    .where((eb) => eb.or([eb('c.revocation_reason', 'is', null), eb('c.revocation_reason', '<>', 'key_compromise')]))
    .where('c.list_after', 'is', null)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('crl_entries as e').select('e.cert_id').whereRef('e.cert_id', '=', 'c.cert_id'))),
    )
    .where((eb) =>
      eb.not(
        eb.exists(eb.selectFrom('node_liveness as l').select('l.cert_id').whereRef('l.cert_id', '=', 'c.cert_id')),
      ),
    )
    .orderBy('c.expires_at')
    .orderBy('c.cert_id')
    .limit(ROWS)
    .execute()
}
