import { randomUUID } from 'node:crypto'
import { HOUR, hours, instantOf, readJoinCertificate, writeInstant, writeSortable } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { presented } from '../../database/migrations/0052-presented.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
const LIMITS = { NA_RATE_LIMIT_JOIN_PER_MINUTE: '10000', NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '10000' }
let na: TestAuthority
let node: NodeCaller
let last: JoinCertificate
let count = 0

beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', ...LIMITS } })
  await setUpgrade(writeSortable(clock.now()))
})
afterAll(() => na.stop())

/** Test databases are made by the clock of the system, which is ahead of this one. */
const setUpgrade = (applied_at: string) =>
  rowsOf(na.core.database)
    .updateTable('schema_version')
    .set({ applied_at })
    .where('version', '=', presented.version)
    .execute()

const terms = (members: JsonObject = {}): JsonObject => {
  count += 1
  const roles = ['role:client', 'role:service']
  return { rule_id: `again-${count}`, kind: 'expired_certificate', grace_hours: 72, roles, ...members }
}
const addRule = (members: JsonObject = {}): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/admission-rules', terms(members))
async function newRule(members: JsonObject = {}): Promise<string> {
  return String((accepted(await addRule(members), 201)['rule'] as JsonObject)['rule_id'])
}
const rejoin = (rule_id: string, certificate: JsonObject | string, from = node): Promise<TestResponse> =>
  from.post('/join', {
    evidence: { rule_id, token: typeof certificate === 'string' ? certificate : JSON.stringify(certificate) },
    validity_hours: 48,
  })
const revoke = (cert_id: string, reason: string): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/revoke', { cert_id, reason })

function expectReason(answer: TestResponse, reason: string): void {
  expect(refused(answer, 403, 'evidence_refused')['details']).toEqual({ reason })
}

beforeEach(async () => {
  node = await newNodeCaller(na.url, 'again', clock)
  last = await enroll(na, node, { roles: ['role:client'], max_validity_hours: 30 }, { validity_hours: 10 })
})

describe('a node whose certificate expired', () => {
  it('joins again by its key and last certificate, with its roles, and renews as before', async () => {
    const rule_id = await newRule({ max_validity_hours: 6 })
    clock.advance(11 * 3600)
    const refusal = refused(await node.post('/renew', { cert_id: last.cert_id }), 403, 'certificate_expired')
    expect(refusal['details']).toMatchObject({ rejoin_rule: expect.stringMatching(/^again-/) as string })
    const answer = await rejoin(rule_id, { ...last })
    const next = readJoinCertificate(accepted(answer, 201))
    expect(next).toMatchObject({
      node_public_key: node.key,
      roles: ['role:client'],
      expires_at: writeInstant(clock.now() + hours(6)),
    })
    const [event] = await eventsOf(na, answer)
    expect(event).toMatchObject({ event_type: 'certificate_issued' })
    expect(detailsOf(event)).toMatchObject({ rule_id, evidence_subject: last.cert_id, cert_id: next.cert_id })
    accepted(await node.heartbeat(next.cert_id), 200)
    // The hours of its invite, without evidence.
    const renewed = await node.post('/renew', { cert_id: next.cert_id, validity_hours: 48 })
    expect(readJoinCertificate(accepted(renewed, 201)).expires_at).toBe(writeInstant(clock.now() + hours(30)))
    const listed = (
      accepted(await na.as('standard')('GET', '/admin/admission-rules?limit=500'))['rules'] as JsonObject[]
    ).find((each) => each['rule_id'] === rule_id)
    expect(listed).toMatchObject({ joins: 1, warnings: [] })
    expect(String(listed?.['admits'])).toContain('expired less than 72 h ago')
  })

  it('is not admitted before its end, nor from the end of the grace on', async () => {
    const rule_id = await newRule({ grace_hours: 2 })
    clock.advance(10 * 3600 - 1)
    expectReason(await rejoin(rule_id, { ...last }), 'certificate_not_expired')
    clock.advance(1)
    accepted(await rejoin(rule_id, { ...last }), 201)
    clock.advance(2 * 3600 - 1)
    accepted(await rejoin(rule_id, { ...last }), 201)
    clock.advance(1)
    expectReason(await rejoin(rule_id, { ...last }), 'expired')
  })

  it('needs a rule: without one the refusal of its renewal names none', async () => {
    const lone = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
    const own = await newNodeCaller(lone.url, 'lone', clock)
    const { cert_id } = await enroll(lone, own, { max_validity_hours: 1 }, { validity_hours: 1 })
    clock.advance(3601)
    expect(refused(await own.post('/renew', { cert_id }), 403, 'certificate_expired')['details'] ?? {}).toEqual({})
    await lone.stop()
  })

  it('learns the rule also when a renewal that it did not receive ended its certificate', async () => {
    await newRule()
    accepted(await node.post('/renew', { cert_id: last.cert_id }), 201)
    clock.advance(3600)
    const early = refused(await node.post('/renew', { cert_id: last.cert_id }), 403, 'certificate_superseded')
    expect(early['details'] ?? {}).toEqual({})
    clock.advance(10 * 3600)
    const late = refused(await node.post('/renew', { cert_id: last.cert_id }), 403, 'certificate_superseded')
    expect(late['details']).toMatchObject({ rejoin_rule: expect.stringMatching(/^again-/) as string })
  })

  it('is refused when this or another certificate of its key was revoked, also after the end', async () => {
    const rule_id = await newRule()
    clock.advance(11 * 3600)
    accepted(await revoke(last.cert_id, 'cessation_of_operation'), 200)
    refused(await rejoin(rule_id, { ...last }), 403, 'node_key_revoked')
    const sibling = await newNodeCaller(na.url, 'again', clock)
    const [one, two] = [
      await enroll(na, sibling, { max_validity_hours: 1 }),
      await enroll(na, sibling, { max_validity_hours: 5 }),
    ]
    accepted(await revoke(two.cert_id, 'key_compromise'), 200)
    clock.advance(6 * 3600)
    refused(await rejoin(rule_id, { ...one }, sibling), 403, 'node_key_compromised')
  })

  it('is refused with the certificate of another key, of another network, or one that was changed', async () => {
    const rule_id = await newRule()
    const thief = await newNodeCaller(na.url, 'thief', clock)
    const other = await startTestAuthority({ clock, network: 'OTHER-NET', settings: { NA_CLOCK_CHECK: 'off' } })
    const abroad = await newNodeCaller(other.url, 'again', clock)
    const foreign = await enroll(other, abroad, { max_validity_hours: 1 }, { validity_hours: 1 })
    clock.advance(11 * 3600)
    expectReason(await rejoin(rule_id, { ...last }, thief), 'audience_mismatch')
    expectReason(await rejoin(rule_id, { ...foreign }), 'issuer_mismatch')
    expectReason(await rejoin(rule_id, { ...foreign, network_name: last.network_name }), 'signature_invalid')
    expectReason(await rejoin(rule_id, { ...last, roles: ['role:service'] }), 'signature_invalid')
    expectReason(await rejoin(rule_id, { ...last, extra: 1 }), 'malformed')
    expectReason(await rejoin(rule_id, 'no certificate'), 'malformed')
    await other.stop()
  })

  it('is refused with roles that the rule does not name, and by a removed rule', async () => {
    const [narrow, gone] = [await newRule({ roles: ['role:service'] }), await newRule()]
    clock.advance(11 * 3600)
    expectReason(await rejoin(narrow, { ...last }), 'claims_mismatch')
    accepted(await na.as('privileged')('POST', `/admin/admission-rules/${gone}/remove`, {}), 200)
    expectReason(await rejoin(gone, { ...last }), 'rule_unavailable')
  })

  it('is refused when the database lacks its certificate, as after a restore', async () => {
    const rule_id = await newRule()
    clock.advance(11 * 3600)
    const db = rowsOf(na.core.database)
    await db.deleteFrom('node_liveness').where('cert_id', '=', last.cert_id).execute()
    await db.deleteFrom('issued_certs').where('cert_id', '=', last.cert_id).execute()
    expectReason(await rejoin(rule_id, { ...last }), 'certificate_unknown')
  })

  it('is refused when it ended before the upgrade: whether evidence admitted it is not known', async () => {
    const rule_id = await newRule()
    clock.advance(11 * 3600)
    await setUpgrade(writeSortable(clock.now()))
    expectReason(await rejoin(rule_id, { ...last }), 'certificate_unknown')
    await setUpgrade(writeSortable(0n))
  })

  it('is refused when evidence admitted it: its platform is asked again', async () => {
    const rule_id = await newRule()
    const { cert_id } = last
    const row = { cert_id, rule_id: 'platform', expires_at: last.expires_at }
    await rowsOf(na.core.database).insertInto('admitted_certs').values(row).execute()
    clock.advance(11 * 3600)
    expectReason(await rejoin(rule_id, { ...last }), 'other_rule')
    expect(refused(await node.post('/renew', { cert_id }), 403, 'certificate_expired')['details'] ?? {}).toEqual({})
  })

  it('uses a request once, a certificate five times, and a rule as often as it says', async () => {
    const [rule_id, once] = [await newRule(), await newRule({ max_joins: 1 })]
    clock.advance(11 * 3600)
    const proof = { nonce: randomUUID(), timestamp: writeInstant(clock.now()) }
    const members = { evidence: { rule_id, token: JSON.stringify(last) }, ...proof }
    accepted(await node.post('/join', members), 201)
    refused(await node.post('/join', members), 401, 'node_auth_failed')
    for (let use = 1; use < 5; use += 1) accepted(await rejoin(rule_id, { ...last }), 201)
    expectReason(await rejoin(rule_id, { ...last }), 'evidence_used')
    const second = await newNodeCaller(na.url, 'again', clock)
    const certificate = await enroll(na, second, { max_validity_hours: 1 }, { validity_hours: 1 })
    const third = await newNodeCaller(na.url, 'again', clock)
    const another = await enroll(na, third, { max_validity_hours: 1 }, { validity_hours: 1 })
    clock.advance(3601)
    accepted(await rejoin(once, { ...certificate }, second), 201)
    expectReason(await rejoin(once, { ...another }, third), 'joins_exhausted')
  })

  it('gets 429 when refused evidence comes without end', async () => {
    const few = await startTestAuthority({
      clock,
      settings: { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '3' },
    })
    const own = await newNodeCaller(few.url, 'flood', clock)
    const answers: number[] = []
    for (let attempt = 0; attempt < 5; attempt += 1)
      answers.push((await rejoin('no-rule', 'no certificate', own)).status)
    expect(answers).toEqual([403, 403, 403, 429, 429])
    await few.stop()
  })
})

describe('a rule for expired certificates', () => {
  it('has a grace, no identity claims and no keys of others', async () => {
    const wrong: [JsonObject, string][] = [
      [{ grace_hours: 0 }, 'grace_hours'],
      [{ grace_hours: 721 }, 'grace_hours'],
      [{ required_claims: { sub: ['a'] } }, 'required_claims'],
      [{ issuer: 'https://issuer.invalid' }, 'issuer'],
      [{ keys: { keys: [{ kty: 'OKP' }] } }, 'keys'],
      [{ audience: 'plain' }, 'audience'],
    ]
    for (const [members, field] of wrong)
      expect(refused(await addRule(members), 400, 'invalid_admission_rule')['details']).toMatchObject({ field })
    const { grace_hours: _left, ...without } = terms()
    refused(await na.as('privileged')('POST', '/admin/admission-rules', without), 400, 'invalid_admission_rule')
  })

  it('does not change the form of the other kinds', async () => {
    const oidc = {
      rule_id: 'oidc',
      kind: 'oidc',
      issuer: 'https://issuer.invalid',
      jwks_url: 'https://issuer.invalid/k',
    }
    const body = { ...oidc, required_claims: { sub: ['a'] } }
    refused(
      await na.as('privileged')('POST', '/admin/admission-rules', { ...body, grace_hours: 1 }),
      400,
      'invalid_admission_rule',
    )
    const { rule } = accepted(await na.as('privileged')('POST', '/admin/admission-rules', body), 201) as {
      rule: JsonObject
    }
    expect(Object.hasOwn(rule, 'grace_hours')).toBe(false)
  })

  it('is tested without a join', async () => {
    const rule_id = await newRule()
    clock.advance(11 * 3600)
    const test = (token: string): Promise<TestResponse> =>
      na.as('standard')('POST', `/admin/admission-rules/${rule_id}/test`, { token })
    expect(accepted(await test(JSON.stringify(last)))).toMatchObject({ admitted: true, evidence_subject: last.cert_id })
    clock.set(instantOf(last.expires_at) + 72n * HOUR)
    expect(accepted(await test(JSON.stringify(last)))).toMatchObject({ admitted: false, reason: 'expired' })
  })
})
