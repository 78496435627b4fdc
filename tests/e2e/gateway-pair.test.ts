import { HOUR, canonicalJson, readRevocationList, writeInstant, writeSortable } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  enroll,
  nodeCaller,
  startTestAuthority,
  startTestGateway,
  testClient,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority, TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { EntriesCache } from '../../apps/authority/src/features/crl/entries-cache.ts'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'

const REFRESH_SECONDS = 10
const REVOKED = ['Revoked { reason: "key_compromise" }']
const caller = testClient('relying-service', ['TEST-NET'])
let na: TestAuthority
let gateway: TestGateway
let policy: JsonObject

beforeAll(async () => {
  na = await startTestAuthority({ network: 'TEST-NET' })
  const crl = readRevocationList(accepted(await na.request('GET', '/crl')))
  const network = {
    anchors: { [crl.issuer]: na.genesis.network_authority.public_key },
    crl: { ...crl },
    minimum_crl_sequence: crl.sequence,
    crl_url: `${na.url}/crl`,
    allow_http: true,
    refresh_seconds: REFRESH_SECONDS,
    required_roles: ['role:client'],
  }
  policy = testPolicy({ 'TEST-NET': network }, [caller])
  gateway = await startTestGateway({ policy, state: 'new' })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await gateway.stop()
  await na.stop()
})

async function verify(certificate: JoinCertificate): Promise<{ trusted: boolean; reasons: string[] }> {
  const { status, body } = await gateway.request('POST', '/verify', { token: caller.token, body: { certificate } })
  expect(status).toBe(200)
  return body as unknown as { trusted: boolean; reasons: string[] }
}

it('a certificate joins, is trusted, is revoked, and stays refused: live, after a restart, and with an old policy', async () => {
  const node = nodeCaller(na.url, await testSigner('pair-node'), () => systemClock.now())
  const certificate = await enroll(na, node, { roles: ['role:client'] })
  expect(await verify(certificate)).toMatchObject({ trusted: true, reasons: [] })

  accepted(
    await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificate.cert_id, reason: 'key_compromise' }),
  )
  const revokedMs = performance.now()
  while ((await verify(certificate)).trusted) {
    // One refresh interval, its jitter and the fetch.
    expect(performance.now() - revokedMs).toBeLessThan(REFRESH_SECONDS * 1100 + 3000)
    await new Promise((done) => setTimeout(done, 200))
  }
  expect((await verify(certificate)).reasons).toEqual(REVOKED)

  const { home } = gateway
  await gateway.stop('keep')
  gateway = await startTestGateway({ policy, state: 'kept', home })
  expect((await verify(certificate)).reasons).toEqual(REVOKED)

  await gateway.stop('keep')
  // The old file and an unreachable authority: only the stored state of the gateway is left.
  const offline = { ...policy, networks: { 'TEST-NET': { ...networkOf(policy), crl_url: 'http://127.0.0.1:1/crl' } } }
  gateway = await startTestGateway({ policy: offline, state: 'kept', home })
  expect((await verify(certificate)).reasons).toEqual(REVOKED)
})

function networkOf(given: JsonObject): JsonObject {
  return (given['networks'] as unknown as Record<string, JsonObject>)['TEST-NET'] ?? {}
}

/** Certificates as a fleet that was given up leaves them: in the database, and named by the next list. */
async function seedEntries(count: number): Promise<void> {
  const now = systemClock.now()
  const facts = { revoked_at: writeInstant(now), reason: 'superseded', issuer: na.core.signing.keyId }
  const rows = Array.from({ length: count }, (_, n) => {
    const cert_id = `planted-${n.toString(16).padStart(28, '0')}`
    const entry_json = canonicalJson({ certificate_id: cert_id, ...facts })
    return { position: n + 1000, cert_id, entry_json, expires_at: writeSortable(now + HOUR) }
  })
  for (let at = 0; at < count; at += 5000)
    await rowsOf(na.core.database)
      .insertInto('crl_entries')
      .values(rows.slice(at, at + 5000))
      .execute()
  // The stored state has no more than the last list.
  vi.spyOn(EntriesCache.prototype, 'find').mockReturnValue(undefined)
}

it('a list of 120,000 entries reaches the gateway: compressed, and with the certificate that was revoked last', async () => {
  const node = nodeCaller(na.url, await testSigner('large-node'), () => systemClock.now())
  const certificate = await enroll(na, node, { roles: ['role:client'] })
  await seedEntries(120_000)
  accepted(
    await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificate.cert_id, reason: 'key_compromise' }),
  )
  const [plain, packed] = await Promise.all(
    ['identity', 'gzip'].map((accept) => na.request('GET', '/crl', { headers: { 'Accept-Encoding': accept } })),
  )
  expect(Number(plain?.headers['content-length'])).toBeGreaterThan(16_777_216)
  expect(packed?.headers['content-encoding']).toBe('gzip')
  expect(Number(packed?.headers['content-length'])).toBeLessThan(4_000_000)
  for (const held of [plain, packed])
    for (const accept of ['identity', 'gzip']) {
      const headers = { 'If-None-Match': String(held?.headers.etag), 'Accept-Encoding': accept }
      expect((await na.request('GET', '/crl', { headers })).status).toBe(304)
    }
  const { home } = gateway
  await gateway.stop('keep')
  gateway = await startTestGateway({ policy, state: 'kept', home })
  await expect.poll(async () => (await verify(certificate)).reasons, { timeout: 30_000 }).toEqual(REVOKED)
}, 60_000)
