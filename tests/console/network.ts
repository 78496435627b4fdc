import { type JsonObject, MINUTE, readJson, writeSortable } from '@chancery/protocol'
import {
  accepted,
  enroll,
  foreignFeed,
  foreignSovereign,
  nodeCaller,
  seedTreaties,
  startTestAuthority,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'

export const NETWORK = 'AURORA-NET'

/**
 * A small network with everything a page can show: its own records, records of other networks, ended and forged ones.
 */
export async function startNetwork(): Promise<TestAuthority> {
  const na = await startTestAuthority({ network: NETWORK, settings: { EVIDENCE_STORE: 'on' } })
  await seedForeign(na)
  for (const name of ['MERIDIAN', 'NIMBUS', 'OSPREY']) await issueTreaty(na, name)
  for (let i = 0; i < 6; i += 1)
    await enroll(
      na,
      nodeCaller(na.url, await testSigner('n', `console-${i}`), () => na.core.clock.now()),
    )
  await importFeed(na, 'BOREALIS', ['borealis-member-7'])
  await seedHistory(na)
  accepted(await na.request('GET', '/crl'))
  return na
}

async function seedForeign(na: TestAuthority): Promise<void> {
  const issuedAt = na.core.clock.now() - 120n * MINUTE
  await seedTreaties(na.parts, [
    { treaty_id: 'forged-1', from: NETWORK, to: 'BOREALIS', issuedAt, validityHours: 700 },
    { treaty_id: 'ending-1', from: NETWORK, to: 'CIRRUS', issuedAt, validityHours: 30 },
    { treaty_id: 'over-1', from: NETWORK, to: 'DELTA', issuedAt, validityHours: 1 },
    {
      treaty_id: 'ended-1',
      from: NETWORK,
      to: 'EMBER',
      issuedAt,
      validityHours: 700,
      revokedBecause: 'relationship_ended',
    },
    { treaty_id: 'foreign-1', from: 'MERIDIAN', to: 'FJORD', issuedAt, validityHours: 700 },
    { treaty_id: 'foreign-2', from: 'FJORD', to: 'GLACIER', issuedAt, validityHours: 700 },
  ])
}

export async function issueTreaty(na: TestAuthority, name: string): Promise<JsonObject> {
  return accepted(
    await na.as('privileged')('POST', '/admin/recognition-treaties', {
      subject_sovereign_id: name,
      subject_public_keys: [foreignSovereign(name).publicKey],
      validity_hours: 600,
      scope: { allowed_roles: ['role:client'] },
    }),
    201,
  )
}

async function importFeed(na: TestAuthority, name: string, ids: readonly string[]): Promise<void> {
  const issuer = foreignSovereign(name)
  accepted(
    await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', {
      feed: readJson(wireText(foreignFeed(issuer, 3, ids))),
      issuer_public_keys: [issuer.publicKey],
    }),
  )
}

async function seedHistory(na: TestAuthority): Promise<void> {
  const now = na.core.clock.now()
  const start = now - (now % MINUTE)
  const rows = Array.from({ length: 1200 }, (_, i) => ({
    minute: writeSortable(start - BigInt(1300 - i) * MINUTE),
    active: Math.round(6 + 3 * Math.sin(i / 150)),
    tracked: 9,
    expiring: 1,
  })).filter((_, i) => i < 500 || i > 600)
  for (let at = 0; at < rows.length; at += 200)
    await rowsOf(na.core.database)
      .insertInto('activity_minutes')
      .values(rows.slice(at, at + 200))
      .execute()
}
