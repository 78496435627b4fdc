import { createPublicKey, verify } from 'node:crypto'
import { readInstant, readJsonBytes, verifyJoinCertificate, verifyNodeProof } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createMigratedDatabase, testSigner } from '@chancery/testkit'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { lostHeartbeats } from '../campaigns/fleet/checks.ts'
import { Histogram } from '../campaigns/fleet/lanes.ts'
import * as fleet from '../campaigns/fleet/million-nodes.ts'
import { NodeRequests } from '../campaigns/fleet/node-requests.ts'
import { slopeOf } from '../../bench/lib/statistics.ts'
import { TimingWheel } from '../campaigns/fleet/lanes.ts'
import { SECRET_BYTES, publicKeyOf, signRaw, writeSecret } from '../tools/raw-ed25519.ts'
import { seedCertificates } from '../tools/seed-certificates.ts'
import { seededAddress, seededAge, seededCertificateId } from '../tools/seeded-nodes.ts'
import { runCampaign } from './campaign-run.ts'

const HOUR_MS = 3_600_000

it('million-nodes finds no violation with 200 nodes in 5 s', async () => {
  const { cases, violations, figures } = await runCampaign('million-nodes', fleet, {
    count: 200,
    minutes: 1 / 12,
    pace: 10,
  })
  expect(violations).toBe(0)
  // 190 nodes send every 9 to 11 s: 95 heartbeats in 5 s. Each of the four rounds compares nodes and asks for some.
  expect(cases).toBeGreaterThan(120)
  expect(figures).toMatchObject({ nodes: 200, overloaded: 0, lost: 0 })
  expect(Number(figures?.['got_per_s'])).toBeGreaterThan(10)
  expect(Number(figures?.['joined'])).toBeGreaterThan(0)
  expect(Number(figures?.['revoked_refused'])).toBeGreaterThan(0)
  expect(Number(figures?.['wal_bytes_per_beat'])).toBeGreaterThan(0)
}, 300_000)

describe('parts of the campaign', () => {
  it('raw signatures are those of Ed25519', () => {
    // RFC 8032, 7.1, test 2.
    const seed = Buffer.from('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', 'hex')
    const secret = new Uint8Array(SECRET_BYTES)
    writeSecret(seed, secret)
    expect(publicKeyOf(secret)).toBe('PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=')
    const signature = Buffer.from(signRaw(Buffer.from('72', 'hex'), secret), 'base64')
    expect(signature.toString('hex')).toBe(
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    )
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(secret.subarray(32)).toString('base64url') },
      format: 'jwk',
    })
    expect(verify(null, Buffer.from('72', 'hex'), key, signature)).toBe(true)
  })

  it.each(['heartbeat', 'renew'] as const)('a %s has a proof that verifies', async (action) => {
    const { publicKey: audience } = await testSigner('na-test', 'na')
    const facts = { seed: '7', nodes: 10, host: '127.0.0.1', port: 1, audience, genesisDigest: 'ab'.repeat(32) }
    const requests = new NodeRequests(facts)
    const now = Date.now()
    // With a secret that is new, one that is stored, and one beyond those that are stored.
    for (const node of [3, 3, 12]) {
      const cert_id = seededCertificateId('7', node)
      const bytes = action === 'renew' ? requests.renewal(node, cert_id, now) : requests.heartbeat(node, cert_id, now)
      const [head = '', body = ''] = bytes.toString('latin1').split('\r\n\r\n')
      expect(head).toContain(`Content-Length: ${body.length}`)
      expect(head).toContain(`X-Forwarded-For: ${seededAddress(cert_id)}`)
      const json = readJsonBytes(Buffer.from(body)) as JsonObject
      expect(json).toMatchObject({ action, cert_id })
      const against = { action, audience, now: BigInt(now) * 1000n }
      expect(await verifyNodeProof(json, against)).toEqual({ ok: true })
      expect(await verifyNodeProof({ ...json, cert_id: 'other' }, against)).toMatchObject({ ok: false })
    }
  })

  it('the wheel gives every node once, in its slot', () => {
    const wheel = new TimingWheel(5)
    const taken: [number, number][] = []
    const take = (at: number): void => wheel.take(at, (node, due) => void taken.push([node, due]))
    wheel.add(0, 25)
    wheel.add(1, 990_000)
    wheel.add(2, 25)
    take(20)
    expect(taken).toEqual([])
    take(40)
    expect(taken).toEqual([
      [2, 20],
      [0, 20],
    ])
    // The time has passed, so it is due in the next slot.
    wheel.add(0, 5)
    take(50)
    expect(taken.splice(0)).toHaveLength(3)
    take(989_999)
    expect(taken).toEqual([])
    take(990_010)
    expect(taken).toEqual([[1, 990_000]])
    // More than once around.
    wheel.add(2, 1_350_000)
    take(1_350_000)
    expect(taken).toHaveLength(1)
    take(1_350_010)
    expect(taken).toEqual([
      [1, 990_000],
      [2, 1_350_000],
    ])
    expect(() => wheel.add(3, 2_700_000)).toThrow('too far')
  })

  it('the histogram has quantiles of small and large times', () => {
    const times = new Histogram()
    expect(times.quantile(0.5)).toBeNaN()
    for (let ms = 1; ms <= 98; ms += 1) times.add(ms - 0.05)
    times.add(2345)
    times.add(1e9)
    expect(times.count).toBe(100)
    expect(times.quantile(0.5)).toBeCloseTo(51, 5)
    expect(times.quantile(0.98)).toBe(2350)
    expect(times.quantile(0.99)).toBe(120_000)
  })

  it('a heartbeat that is older in the database, or missing, is lost', () => {
    const sentAtMs = Date.parse('2026-01-02T03:04:05.678Z')
    const sample = [0, 1, 2, 3, 4].map((node) => ({ node, cert_id: `c${node}`, sentAtMs }))
    const stored = new Map([
      ['c0', '2026-01-02T03:04:05.678000Z'],
      ['c1', '2026-01-02T03:04:05.677999Z'],
      ['c2', '2026-01-02T03:04:06.000000Z'],
    ])
    const lost = lostHeartbeats(sample, stored, (node) => node === 4)
    expect(lost.map((sentence) => sentence.split(':')[0])).toEqual(['node 1', 'node 3'])
  })

  it('the slope is that of the line through the points', () => {
    expect(slopeOf([])).toBe(0)
    expect(
      slopeOf([
        [0, 5],
        [1, 7],
        [2, 9],
      ]),
    ).toBeCloseTo(2)
    expect(
      slopeOf([
        [0, 1],
        [1, -1],
        [2, -1],
        [3, 1],
      ]),
    ).toBeCloseTo(0)
  })

  it('ages are spread over the time between two renewals', () => {
    const ages = Array.from({ length: 2000 }, (_, node) => seededAge('9', node))
    expect(ages.filter(({ issuedBeforeMs, renewedAfterMs }) => issuedBeforeMs > renewedAfterMs)).toEqual([])
    // The library renews certificates of 168 hours 144 to 146 hours after their issue.
    const after = ages.map(({ renewedAfterMs }) => renewedAfterMs / HOUR_MS)
    expect([Math.floor(Math.min(...after)), Math.ceil(Math.max(...after))]).toEqual([144, 146])
    const young = ages.filter(({ issuedBeforeMs }) => issuedBeforeMs < 36.25 * HOUR_MS)
    expect(young.length / ages.length).toBeCloseTo(0.25, 1)
  })
})

it('the filler stores certificates that verify, with their indexes and counts', async () => {
  const database = await createMigratedDatabase('postgres')
  const url = database.settings['DATABASE_URL'] ?? ''
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const indexes = "select indexdef from pg_indexes where schemaname = 'public' order by indexdef"
    const before = (await client.query(indexes)).rows
    const at = systemClock.now()
    await seedCertificates({ database: url, count: 5000, seed: '3', network: 'FILL-NET', fleet: true, at })
    expect((await client.query(indexes)).rows).toEqual(before)
    const { rows: counts } = await client.query(
      'select (select count(*)::int from issued_certs) as certificates, (select count(*)::int from node_liveness) as live, ' +
        '(select sum(issued)::int from issued_counts) as counted',
    )
    expect(counts).toEqual([{ certificates: 5000, live: 5000, counted: 5000 }])
    const { publicKey } = await testSigner('na-test', 'na')
    const { rows } = await client.query<Record<'cert_json' | 'issued_at' | 'expires_at' | 'remote_addr', string>>(
      'select cert_json, issued_at, expires_at, remote_addr from issued_certs join node_liveness using (cert_id) where cert_id = any($1)',
      [[0, 1234, 4999].map((index) => seededCertificateId('3', index))],
    )
    expect(rows).toHaveLength(3)
    for (const row of rows) {
      const certificate = JSON.parse(row.cert_json) as JoinCertificate
      const against = { network_name: 'FILL-NET', authorityKey: publicKey, now: at }
      expect(await verifyJoinCertificate(certificate, against)).toEqual({ ok: true })
      expect(readInstant(row.issued_at)).toBe(readInstant(certificate.issued_at))
      expect(readInstant(row.expires_at)).toBe(readInstant(certificate.expires_at))
      expect(row.remote_addr).toBe(seededAddress(certificate.cert_id))
    }
  } finally {
    await client.end()
    await database.drop()
  }
})
