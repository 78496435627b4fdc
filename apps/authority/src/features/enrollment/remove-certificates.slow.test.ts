import { ALL_ROUTES } from '@chancery/contract'
import { DAY, HOUR, type Instant, type JoinCertificate, hours, writeSortable } from '@chancery/protocol'
import { ManualClock, accepted, seedCertificates, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Core } from '../../core.ts'
import { coreJobs } from '../../startup/core-jobs.ts'
import { jobsOf, openFeatures } from '../../features.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { DAILY_DELAY_MS, NONCE_DELAY_MS, PurgeClock } from '../../clock/purge-clock.ts'
import { createMetrics } from '../../metrics.ts'
import { findRollback, readHeads } from '../../rollback/positions.ts'
import type { Tables } from '../../database/tables.ts'
import { inspectStore } from '../evidence/verify-store.ts'
import { inspectDatabase } from '../../recovery/inspect.ts'
import { removeCertificates } from './remove-certificates.job.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const START = '2090-01-01T00:00:00Z'
const SETTINGS = { NA_CLOCK_CHECK: 'off', NA_GENESIS_WINDOW: 'warn', NA_CERTIFICATE_KEPT_DAYS: '30' }
let clock: ManualClock
let na: TestAuthority
let seeded = 0
beforeEach(async () => {
  clock = new ManualClock(START)
  na = await startTestAuthority({ clock, settings: SETTINGS })
  accepted(await na.request('GET', '/crl'))
})
afterEach(() => na.stop())

const db = () => rowsOf(na.core.database)

async function seed(validityHours: number, issuedAt: Instant = clock.now()): Promise<JoinCertificate> {
  seeded += 1
  const { publicKey } = await testSigner('node', `removed-${seeded}`)
  const [certificate] = await seedCertificates(na.parts, {
    count: 1,
    node_public_key: publicKey,
    validityHours,
    issuedAt,
  })
  if (certificate === undefined) throw new Error('nothing was seeded')
  return certificate
}

/** Without a liveness row, as some days after its end. */
async function seedEnded(columns: Partial<Tables['issued_certs']> = {}): Promise<string> {
  const { cert_id } = await seed(1, clock.now() - 40n * DAY)
  await db().deleteFrom('node_liveness').where('cert_id', '=', cert_id).execute()
  if (Object.keys(columns).length > 0)
    await db().updateTable('issued_certs').set(columns).where('cert_id', '=', cert_id).execute()
  return cert_id
}

async function stored(): Promise<string[]> {
  const rows = await db().selectFrom('issued_certs').select('cert_id').execute()
  return rows.map(({ cert_id }) => cert_id).sort()
}

async function revoke(cert_id: string, reason: string): Promise<void> {
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason }))
}

/** The same authority with a clock that is accepted immediately. */
function acceptedClock(settings: Partial<AuthoritySettings> = {}): typeof na.parts {
  const purgeClock = { nonces: clock, daily: clock } as unknown as Core['purgeClock']
  return Object.assign(
    { ...na.parts },
    {
      purgeClock,
      settings: { ...na.settings, ...settings },
    },
  )
}

const remove = (parts = acceptedClock()): Promise<void> => removeCertificates(parts, new AbortController().signal)

async function metric(name: string): Promise<string | undefined> {
  const { text } = await na.request('GET', '/metrics')
  return new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]
}

async function writeMarkNow() {
  const heads = await readHeads(db())
  return { mark_version: 1, network_name: 'TEST-NET', written_at: '2200-01-01T00:00:00Z', ...heads } as const
}

async function problems(): Promise<readonly string[]> {
  const authority = { publicKeys: [na.genesis.network_authority.public_key], sovereign: na.genesis.network_name }
  return (await inspectDatabase(db(), authority, inspectStore)).problems
}

const REVOKED = { status: 'revoked', revoked_at: writeSortable(0n), revocation_reason: 'unspecified' }

describe('removeCertificates', () => {
  it('removes certificates 30 days after their end while the authority is restarted twice a day', async () => {
    const ended = await seed(1)
    const revoked = await seed(2)
    const compromised = await seed(1)
    const valid = await seed(24 * 36)
    await revoke(revoked.cert_id, 'cessation_of_operation')
    await revoke(compromised.cert_id, 'key_compromise')
    const mark = await writeMarkNow()
    expect(mark.revoked_certificates).toBe(2)
    const jobs = ['purge-clock', 'crl-refresh', 'high-water', 'crl-removal', 'retention', 'certificate-removal']
    for (let half = 1; half <= 68; half += 1) {
      const purgeClock = {
        nonces: new PurgeClock(clock, NONCE_DELAY_MS),
        daily: new PurgeClock(clock, DAILY_DELAY_MS),
      }
      const core = { ...na.core, purgeClock }
      for (const passed of [0, 12 * 3600]) {
        clock.advance(passed)
        // Features register gauges, once in a process.
        const fresh = { ...core, metrics: createMetrics(ALL_ROUTES, core.clock) }
        for (const job of [...coreJobs(core, na.settings), ...jobsOf(openFeatures(fresh, na.settings), fresh)])
          if (jobs.includes(job.name)) await job.run(new AbortController().signal)
      }
      if (half === 58) expect(await stored()).toContain(ended.cert_id)
    }
    expect(await stored()).toEqual([compromised.cert_id, valid.cert_id].sort())
    // The totals of issued and revoked certificates do not fall, so a removal is not reported as a rollback.
    expect(await metric('chancery_issued_certs')).toBe('4')
    expect(await metric('chancery_revoked_certs')).toBe('2')
    expect(await findRollback(db(), await readHeads(db()), mark)).toEqual([])
    expect(await problems()).toEqual([])
    const events = await na.auditEvents('certificates_removed')
    expect(events.reduce((sum, { details }) => sum + Number((details as { count: number }).count), 0)).toBe(2)
    // A missing revocation is detected, although other rows were removed.
    await db().deleteFrom('issued_certs').where('cert_id', '=', compromised.cert_id).execute()
    expect(await findRollback(db(), await readHeads(db()), mark)).toEqual(['revoked_certificates'])
  }, 60_000)

  it('does not remove a row that the list, a liveness row or a queued entry still needs', async () => {
    const plain = await seedEnded()
    const listed = await seedEnded(REVOKED)
    await db()
      .insertInto('crl_entries')
      .values({ position: 1, cert_id: listed, entry_json: '{}', expires_at: writeSortable(clock.now() + DAY) })
      .execute()
    const waiting = await seedEnded({ list_after: writeSortable(clock.now() + DAY) })
    const compromised = await seedEnded({ ...REVOKED, revocation_reason: 'key_compromise' })
    const { cert_id: live } = await seed(1, clock.now() - 40n * DAY)
    expect(await stored()).toContain(plain)
    await remove()
    expect(await stored()).toEqual([listed, waiting, compromised, live].sort())
  })

  it('does not remove a row that a stored list may name', async () => {
    const cert_id = await seedEnded(REVOKED)
    const end = clock.now() - 40n * DAY + HOUR
    // A list from the hour in which the certificate ended, stored because the high-water mark names it.
    const next_update = writeSortable(end + hours(24))
    await db().updateTable('crl_versions').set({ next_update }).execute()
    await remove()
    expect(await stored()).toEqual([cert_id])
    await db()
      .updateTable('crl_versions')
      .set({ next_update: writeSortable(clock.now() + hours(24)) })
      .execute()
    await remove()
    expect(await stored()).toEqual([])
  })

  it('removes more than one batch, and skips rows that stay', async () => {
    for (let count = 0; count < 3; count += 1) await seedEnded({ ...REVOKED, revocation_reason: 'key_compromise' })
    const staying = await stored()
    const { publicKey } = await testSigner('node', 'many')
    const options = { count: 1100, node_public_key: publicKey, validityHours: 1, issuedAt: clock.now() - 39n * DAY }
    await seedCertificates(na.parts, options)
    await db().deleteFrom('node_liveness').execute()
    await remove()
    expect(await stored()).toEqual(staying)
    expect(await metric('chancery_issued_certs')).toBe('1103')
  }, 60_000)

  it('removes nothing with 0 days', async () => {
    const cert_id = await seedEnded()
    await remove(acceptedClock({ certificateKeptDays: 0 }))
    expect(await stored()).toEqual([cert_id])
    await remove()
    expect(await stored()).toEqual([])
  })

  it('still refuses the compromised key of a certificate that ended long ago', async () => {
    const { cert_id, node_public_key } = await seed(1, clock.now() - 40n * DAY)
    await db()
      .updateTable('issued_certs')
      .set({ ...REVOKED, revocation_reason: 'key_compromise' })
      .where('cert_id', '=', cert_id)
      .execute()
    await db().deleteFrom('node_liveness').execute()
    await remove()
    const barred = db()
      .selectFrom('issued_certs')
      .select('cert_id')
      .where('node_public_key', '=', node_public_key)
      .where('revocation_reason', '=', 'key_compromise')
    expect(await barred.execute()).toEqual([{ cert_id }])
  })
})
