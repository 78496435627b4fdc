import { digestOf, readJson, readReceived, trustEvidenceForm, verifyReceived } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  accepted,
  detailsOf,
  eventsOf,
  eventsOfCallers,
  foreignSovereign,
  ManualClock,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const foreign = foreignSovereign('foreign-net')
let na: TestAuthority
let ownKey: string
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  ownKey = na.genesis.network_authority.public_key
})
afterAll(() => na.stop())

const DECISION = { source_sovereign_id: 'source-net', target_sovereign_id: 'target-net', verdict: 'allow' }
const issue = (changes: JsonObject = {}, more: JsonObject = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/trust-evidence', { decision: { ...DECISION, ...changes }, ...more })

describe('POST /admin/trust-evidence', () => {
  it('201: signs a minimal decision with its defaults and the digest of the graph', async () => {
    const answer = await issue()
    const record = accepted(answer, 201)
    const graph = (await na.request('GET', '/recognition-graph')).json as JsonObject
    expect(record).toEqual({
      ...DECISION,
      evidence_id: expect.any(String),
      issuer_sovereign_id: 'TEST-NET',
      reason: '',
      requested_roles: [],
      trusted: false,
      hop_count: 0,
      signals: [],
      graph_digest: digestOf(graph),
      evaluated_at: '',
      issued_at: '2026-01-02T03:04:05.678000Z',
      issued_by: 'na-test',
      metadata: {},
      signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
    })
    expect(await verifyReceived(readReceived(trustEvidenceForm, record), [ownKey])).toEqual({ ok: true })
    expect(verifiesWithNodeCrypto(answer.text, ownKey)).toBe(true)
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['trust_evidence_built'])
    expect(detailsOf(events[0])).toMatchObject({ evidence_id: record['evidence_id'] })
  })

  it('201: copies the finding, drops the path and unknown members', async () => {
    const changes = {
      verdict: 'escalate',
      reason: 'x',
      requested_roles: ['role:client'],
      trusted: true,
      hop_count: 2,
      trust_path: [{ from: 'a', to: 'b' }],
      signals: [{ code: 'note', severity: 'info', stray: 1 }],
      evaluated_at: '2026-01-01T00:00:00Z',
      stray: 1,
    }
    const record = accepted(await issue(changes, { graph_digest: '0'.repeat(64) }), 201)
    expect(record).toMatchObject({
      verdict: 'escalate',
      hop_count: 2,
      signals: [{ code: 'note', severity: 'info', detail: '' }],
      graph_digest: '0'.repeat(64),
    })
    expect(record).not.toHaveProperty('trust_path')
    expect(record).not.toHaveProperty('stray')
  })

  it('400 missing_decision: none, or not an object', async () => {
    for (const decision of [null, [], 'allow', 1] satisfies JsonValue[])
      refused(await na.as('standard')('POST', '/admin/trust-evidence', { decision }), 400, 'missing_decision')
  })

  it.each<[string, JsonObject, JsonObject]>([
    ['an unknown verdict', { verdict: 'maybe' }, {}],
    ['no source', { source_sovereign_id: '' }, {}],
    ['roles of another type', { requested_roles: [1] }, {}],
    ['a negative hop count', { hop_count: -1 }, {}],
    ['a signal without severity', { signals: [{ code: 'x' }] }, {}],
    ['a path that is a string', { trust_path: 'x' }, {}],
    ['a digest of 63 digits', {}, { graph_digest: '0'.repeat(63) }],
    ['a digest in capitals', {}, { graph_digest: 'A'.repeat(64) }],
  ])('400 invalid_decision: %s', async (_name, changes, more) => {
    refused(await issue(changes, more), 400, 'invalid_decision')
  })

  it('401: without operator headers', async () => {
    const body = { decision: DECISION }
    refused(await na.request('POST', '/admin/trust-evidence', { body }), 401, 'admin_auth_failed')
  })
})

describe('POST /trust-evidence/verify', () => {
  const record = (changes: ForeignObject = {}): JsonObject =>
    readJson(
      wireText(
        foreign.sign({
          evidence_id: 'e-1',
          issuer_sovereign_id: 'foreign-net',
          source_sovereign_id: 'foreign-net',
          target_sovereign_id: 'x',
          verdict: 'perhaps',
          reason: '',
          requested_roles: [],
          trusted: true,
          hop_count: 1,
          signals: [{ anything: 'goes' }],
          graph_digest: '0'.repeat(64),
          evaluated_at: 'any text',
          issued_at: '2026-01-02T04:04:05+01:00',
          issued_by: 'k',
          metadata: { any: [1] },
          ...changes,
        }),
      ),
    ) as JsonObject
  const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/trust-evidence/verify', { body })
  const keys = { issuer_public_keys: [foreign.publicKey] }

  it.each<[string, JsonObject, JsonObject, string]>([
    ['of a partner, under its key', record(), keys, 'accepted'],
    ['over the expected graph', record(), { ...keys, expected_graph_digest: '0'.repeat(64) }, 'accepted'],
    ['over another graph', record(), { ...keys, expected_graph_digest: 'f'.repeat(64) }, 'graph_digest_mismatch'],
    ['unsigned', { ...record(), signatures: [] }, keys, 'missing_signature'],
    ['under the default key', record(), {}, 'invalid_signature'],
    ['changed', { ...record(), verdict: 'allow' }, keys, 'invalid_signature'],
    ['with a signed unknown member', record({ more: 1 }), keys, 'invalid_signature'],
  ])('200: %s', async (_name, evidence, more, reason) => {
    const before = (await eventsOfCallers(na)).length
    expect(accepted(await post({ evidence, ...more }))).toEqual({
      accepted: reason === 'accepted',
      reason,
      evidence_id: evidence['evidence_id'],
      issuer_sovereign_id: 'foreign-net',
      verdict: evidence['verdict'],
    })
    expect(await eventsOfCallers(na)).toHaveLength(before)
  })

  it('200: an own one under the default key', async () => {
    const evidence = accepted(await issue(), 201)
    expect(accepted(await post({ evidence }))).toMatchObject({ accepted: true, reason: 'accepted' })
    expect(accepted(await post({ evidence, issuer_public_keys: [] }))).toMatchObject({ accepted: true })
  })

  it.each<[string, JsonObject, string]>([
    ['no evidence', { evidence: null }, 'missing_evidence'],
    ['a list', { evidence: [] }, 'invalid_evidence'],
    ['trusted as 1', { evidence: { ...record(), trusted: 1 } }, 'invalid_evidence'],
    ['an expected digest that is a number', { expected_graph_digest: 5 }, 'invalid_evidence'],
    ['invalid keys', { issuer_public_keys: [5] }, 'invalid_public_keys'],
  ])('400: %s', async (_name, changes, code) => {
    refused(await post({ evidence: record(), ...changes }), 400, code)
  })
})
