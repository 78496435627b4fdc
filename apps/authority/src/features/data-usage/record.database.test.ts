import { canonicalJson, readDataAccessIntent, readDataLicensePolicy, verifyDataUsage } from '@chancery/protocol'
import { digestOf, instantOf, readJson, readUsageViolation } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignIntent,
  foreignLicense,
  foreignSovereign,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const PATH = '/admin/data-usage/violations'
const clock = new ManualClock('2030-01-02T03:04:05Z')
const [agent, licensor] = [foreignSovereign('AGENT-NET'), foreignSovereign('LICENSOR-NET')]
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { EVIDENCE_STORE: 'on', NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const json = (value: ForeignObject): JsonObject => readJson(wireText(value)) as JsonObject
const body = (changes: ForeignObject): JsonObject => ({
  intent: json(foreignIntent(agent, clock.now(), changes)),
  policy: json(foreignLicense(licensor, clock.now())),
  agent_public_keys: [agent.publicKey],
  policy_public_keys: [licensor.publicKey],
})
const post = (asked: JsonObject, headers: Record<string, string> = {}): Promise<TestResponse> =>
  na.as('standard')('POST', PATH, asked, { headers })
const entries = async (): Promise<readonly string[]> =>
  (await rowsOf(na.core.database).selectFrom('evidence_entries').select('line').execute()).map(({ line }) => line)
const BAD = { declared_access_types: ['train', 'sell'] }

describe('POST /admin/data-usage/violations', () => {
  it('200: stores nothing without a violation', async () => {
    const answer = accepted(await post(body({})))
    expect(answer).toEqual({
      valid: true,
      violation_reason: null,
      violation_count: 0,
      violations: [],
      entry: null,
      entry_digest: null,
    })
    expect(await entries()).toEqual([])
  })

  it('201: stores one entry with all that the check read, so that anyone can repeat it', async () => {
    const asked = body(BAD)
    const answer = await post(asked)
    const made = accepted(answer, 201)
    const entry = made['entry'] as JsonObject
    expect(made).toMatchObject({
      valid: false,
      violation_reason: 'access_type_not_permitted',
      violation_count: 2,
      entry_digest: digestOf(entry),
    })
    expect(entry).toMatchObject({
      entry_kind: 'usage_violation',
      outcome: 'violation',
      decision_id: null,
      executor_sovereign_id: null,
    })
    const [line] = (await entries()).slice(-1)
    const { payload } = readJson(line ?? '') as { payload: JsonObject }
    const stored = readUsageViolation(payload)
    expect(digestOf(payload)).toBe(entry['payload_digest'])
    expect(stored).toMatchObject({
      detected_at: '2030-01-02T03:04:05Z',
      recorded_by: 'op-standard',
      agent_keys: [agent.publicKey],
      policy_keys: [[licensor.publicKey]],
    })
    expect([canonicalJson(stored.intent), canonicalJson(stored.policy)]).toEqual([
      canonicalJson(asked['intent'] ?? null),
      canonicalJson(asked['policy'] ?? null),
    ])
    const again = await verifyDataUsage(readDataAccessIntent(stored.intent), readDataLicensePolicy(stored.policy), {
      agentKeys: stored.agent_keys,
      policyKeys: stored.policy_keys,
      now: instantOf(stored.detected_at),
    })
    expect(again.map(({ type, detail }) => [type, detail])).toEqual(
      stored.violations.map(({ violation_type, detail }) => [violation_type, detail]),
    )
    const found = (made['violations'] as JsonObject[]).map((each) => each['violation_id'])
    expect(stored.violations.map((each) => each.violation_id)).toEqual(found)
    const [event] = await eventsOf(na, answer)
    expect(event?.['event_type']).toBe('data_usage_violation_recorded')
    expect(detailsOf(event)).toEqual({
      intent_id: stored.intent['intent_id'],
      policy_id: stored.policy['policy_id'],
      violation_reason: 'access_type_not_permitted',
      violation_count: 2,
      store_sequence: entry['store_sequence'],
      key_id: 'op-standard',
      remote_addr: '127.0.0.1',
      request_id: answer.headers['x-request-id'],
    })
  })

  it('says with an empty list that the signature of the license was not checked', async () => {
    const { policy_public_keys: _none, ...asked } = body(BAD)
    accepted(await post(asked), 201)
    expect((await entries()).at(-1)).toContain('"policy_keys":[]')
  })

  it('is found by its kind, and the store verifies with it', async () => {
    const found = accepted(await na.as('standard')('GET', '/admin/evidence?entry_kind=usage_violation'))
    expect((found['entries'] as unknown[]).length).toBe((await entries()).length)
    const report = accepted(await na.as('standard')('GET', '/admin/evidence/verify'))
    expect([report['verified'], report['failures']]).toEqual([true, []])
  })

  it('returns the first response again for one Idempotency-Key, and stores one entry', async () => {
    const count = (await entries()).length
    const asked = body(BAD)
    const named = { 'idempotency-key': 'usage-1' }
    const [one, two] = [await post(asked, named), await post(asked, named)]
    expect([one.status, two.text]).toEqual([201, one.text])
    expect((await entries()).length).toBe(count + 1)
    refused(await post({ ...asked, more: 1 }, named), 409, 'conflict')
  })

  it('400: refuses what the public route refuses', async () => {
    refused(await post({ policy: {} }), 400, 'missing_verify_fields')
    refused(await post({ ...body(BAD), intent: 'x' }), 400, 'invalid_input')
    refused(await post({ ...body(BAD), agent_public_keys: ['AAAA'] }), 400, 'invalid_public_keys')
  })

  it('401: is for operators', async () => {
    refused(await na.request('POST', PATH, { body: body(BAD) }), 401, 'admin_auth_failed')
  })

  it('404 without an evidence store', async () => {
    const off = await startTestAuthority()
    refused(await off.as('standard')('POST', PATH, body(BAD)), 404, 'evidence_store_disabled')
    await off.stop()
  })

  it('429: the bytes of a day count for the operator key', async () => {
    const settings = { EVIDENCE_STORE: 'on', NA_CLOCK_CHECK: 'off', NA_DECISION_BYTES_PER_KEY_PER_DAY: '5000' }
    const own = await startTestAuthority({ clock, settings })
    const ask = (): Promise<TestResponse> => own.as('standard')('POST', PATH, body(BAD))
    accepted(await ask(), 201)
    refused(await ask(), 429, 'daily_bytes_exceeded')
    await own.stop()
  })
})
