import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  foreignAttestation,
  foreignSovereign,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { ForeignSovereign, NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { DailyBytes } from './daily-bytes.ts'
import { openTestStore } from './evidence.suite.ts'
import type { EvidenceParts } from './store-verifier.ts'

const LIMIT = 65_536
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
beforeAll(async () => {
  const settings = {
    NA_CLOCK_CHECK: 'off',
    NA_NODE_DECISIONS: 'partners',
    EVIDENCE_STORE: 'on',
    NA_DECISION_BYTES_PER_KEY_PER_DAY: String(LIMIT),
    // Less than one decision.
    NA_DECISION_BYTES_PER_PARTNER_PER_DAY: '1000',
  }
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

interface Member {
  readonly node: NodeCaller
  readonly certificate: JoinCertificate
  readonly attestation_id: string
}

async function member(): Promise<Member> {
  const node = await newNodeCaller(na.url, 'bytes', clock)
  const certificate = await enroll(na, node, { roles: ['role:client'] })
  const claims = { capabilities: ['ledger.read'] }
  const body = { subject_id: 'agent', roles: ['role:client'], validity_hours: 24, claims, subject_public_key: node.key }
  const issued = accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
  return { node, certificate, attestation_id: String(issued['attestation_id']) }
}

function ask({ node, certificate, attestation_id }: Member, members: JsonObject = {}): Promise<TestResponse> {
  const audience = na.genesis.network_authority.public_key
  const named = { action: 'boundary-request', audience, cert_id: certificate.cert_id, attestation_id }
  return node.post('/boundary/request', { ...named, requested_capability: 'ledger.read', ...members })
}

const ofSize = (letters: number): JsonObject => ({ context: { request_parameters: { x: 'x'.repeat(letters) } } })

async function exhaust(one: Member): Promise<TestResponse> {
  for (let tries = 0; tries < 20; tries += 1) {
    const answer = await ask(one, { requested_capability: 'nothing.allowed', ...ofSize(12_000) })
    if (answer.status !== 201) return answer
  }
  throw new Error('no limit was met')
}

describe('the bytes of a day', () => {
  it('end for one key, and not for another one or for a heartbeat', async () => {
    const [one, other] = [await member(), await member()]
    const { details } = refused(await exhaust(one), 429, 'daily_bytes_exceeded')
    expect(details).toMatchObject({ owner: 'key', limit_bytes: LIMIT, ends_at: '2026-01-03T00:00:00Z' })
    accepted(await ask(other), 201)
    const { node, certificate } = one
    accepted(await node.post('/heartbeat', { cert_id: certificate.cert_id, status: 'healthy' }))
  })

  it('are not used up by another caller who sends a stored record again', async () => {
    const store = await openTestStore({ settings: { NA_DECISION_BYTES_PER_KEY_PER_DAY: '4000' } })
    try {
      const { decision } = await store.decide()
      const first = await store.evidence(decision)
      accepted(await store.submit(first), 201)
      for (let tries = 0; tries < 8; tries += 1) accepted(await store.submit(first))
      accepted(await store.submit(await store.evidence((await store.decide()).decision)), 201)
    } finally {
      await store.stop()
    }
  })

  it('are not used up by a node that names another issuer', async () => {
    const one = await member()
    const invented = foreignAttestation(foreignSovereign('PARTNER-NET'), clock.now(), {
      subject_public_key: one.node.key,
    })
    const presented = { attestation: invented, issuer_sovereign_id: 'PARTNER-NET' }
    const { decision } = accepted(await ask(one, { attestation_id: null, presented }), 201)
    expect(decision).toMatchObject({ authorized: false, denial_reason: 'treaty_not_found' })
  })

  it('are counted by all instances and after a restart, and begin again on the next day', async () => {
    const { database } = na.core
    const settings = { keyBytesPerDay: 100, partnerBytesPerDay: 150 } as EvidenceParts['settings']
    const open = (): DailyBytes => new DailyBytes({ clock, database, settings })
    const owners = [
      { kind: 'key' as const, name: 'k' },
      { kind: 'partner' as const, name: 'P' },
    ]
    const first = open()
    await first.take(owners, 90)
    await first.flush()
    await expect(open().take(owners, 20)).rejects.toMatchObject({ details: { owner: 'key', limit_bytes: 100 } })
    // A refused request counts for no owner.
    const other = [{ kind: 'key' as const, name: 'k2' }, owners[1] ?? owners[0] ?? { kind: 'key' as const, name: '' }]
    await open().take(other, 60)
    await expect(open().take(other, 61)).rejects.toMatchObject({ details: { owner: 'partner' } })
    const returning = open()
    const takeBack = await returning.take(other, 60)
    await returning.flush()
    takeBack()
    await returning.flush()
    await open().take(other, 60)
    clock.advance(86_400)
    await open().take(owners, 100)
  })
})

describe('the bytes of a partner', () => {
  const partner = foreignSovereign('PARTNER-NET')

  it('are those that it signed, for any caller, and not those of an attestation that only names it', async () => {
    const own = await startTestAuthority({
      clock,
      settings: {
        NA_CLOCK_CHECK: 'off',
        NA_NODE_DECISIONS: 'partners',
        NA_DECISION_BYTES_PER_PARTNER_PER_DAY: '40000',
      },
    })
    try {
      const treaty = {
        subject_sovereign_id: partner.sovereign_id,
        subject_public_keys: [partner.publicKey],
        scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
      }
      accepted(await own.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
      const node = await newNodeCaller(own.url, 'forger', clock)
      const { cert_id } = await enroll(own, node, { roles: ['role:client'] })
      const asked = (issuer: ForeignSovereign): JsonObject => {
        const attestation = foreignAttestation(issuer, clock.now(), { subject_public_key: node.key })
        const presented = { attestation, issuer_sovereign_id: issuer.sovereign_id }
        return { presented, requested_capability: 'ledger.read', ...ofSize(12_000) }
      }
      const audience = own.genesis.network_authority.public_key
      const named = { action: 'boundary-request', audience, cert_id }
      const forger = foreignSovereign('PARTNER-NET', 'forger')
      for (let n = 0; n < 4; n += 1) accepted(await node.post('/boundary/request', { ...named, ...asked(forger) }), 201)
      const evaluate = () => own.as('standard')('POST', '/admin/boundary/evaluate', asked(partner))
      accepted(await evaluate(), 201)
      const answers = [await evaluate(), await evaluate(), await evaluate()]
      expect(refused(answers[2] ?? (await evaluate()), 429, 'daily_bytes_exceeded')['details']).toMatchObject({
        owner: 'partner',
      })
    } finally {
      await own.stop()
    }
  })
})

describe('a decision with a large context', () => {
  it('413: over 16 KiB in canonical form, and decided below', async () => {
    const one = await member()
    const { details } = refused(await ask(one, ofSize(20_000)), 413, 'context_too_large')
    expect(details).toMatchObject({ field: 'context', max_bytes: 16_384 })
    // Letters that canonical form escapes with six characters each.
    const escaped = { context: { request_parameters: { x: 'é'.repeat(3000) } } }
    refused(await ask(one, escaped), 413, 'context_too_large')
    accepted(await ask(one, ofSize(16_000)), 201)
    const evaluate = { attestation_id: one.attestation_id, requested_capability: 'ledger.read' }
    refused(
      await na.as('standard')('POST', '/admin/boundary/evaluate', { ...evaluate, ...ofSize(20_000) }),
      413,
      'context_too_large',
    )
  })

  it('stores the context once, and repeats the whole answer', async () => {
    const one = await member()
    const asked = { ...ofSize(12_000), idempotency_key: 'again', resource_id: 'r-1' }
    const first = await ask(one, asked)
    accepted(first, 201)
    expect((await ask(one, asked)).text).toBe(first.text)
    const { rows } = await sql<{
      bytes: number
    }>`select length(coalesce(answer_json, '')) + length(answer_rest) as bytes
      from idempotency_keys where idempotency_key = 'again'`.execute(rowsOf(na.core.database))
    expect(rows[0]?.bytes).toBeLessThan(6000)
  })
})
