import { createHash } from 'node:crypto'
import { JsonFloat, type JsonObject, type JsonValue, canonicalJson } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, refused, startTestAuthority } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gate, intent, publishPolicy } from './intents.suite.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const publish = (body: JsonObject, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/boundary-policies', body)
const validate = (body: JsonObject): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/boundary-policies/validate', body)
const countRows = async (): Promise<number> =>
  (await na.core.database.read.selectFrom('boundary_policies').select('version').execute()).length

/** Independent of the product's own digest: removes the signature and hashes with the platform. */
function digestOf({ signature: _signature, ...body }: JsonObject): string {
  return createHash('sha256').update(canonicalJson(body)).digest('hex')
}

describe('POST /admin/boundary-policies', () => {
  describe('201', () => {
    it('signs the next version with every default written out and stores it inactive', async () => {
      const body = intent({ description: 'Grüße', selector: { capabilities: ['secret.*'] } })
      const policy = accepted(await publish(body), 201)
      expect(policy).toEqual({
        ...body,
        selector: {
          capabilities: ['secret.*'],
          requester_sovereign_ids: [],
          provider_sovereign_ids: [],
          agreement_ids: [],
          parent_kinds: [],
          parameter_equals: {},
        },
        gates: [{ ...gate(), mode: 'enforce', disclose_input: false }],
        version: 1,
        issued_at: expect.any(String),
        issued_by: 'na-test',
        issuer_sovereign_id: 'TEST-NET',
        signature: { key_id: 'na-test', sig: expect.any(String) },
      })
      const verdict = accepted(await na.request('POST', '/boundary-policies/verify', { body: { policy } }))
      expect(verdict).toMatchObject({ valid: true, policy_digest: digestOf(policy) })
      const rows = await na.core.database.read
        .selectFrom('boundary_policies')
        .selectAll()
        .where('policy_id', '=', String(body['policy_id']))
        .execute()
      expect(rows).toMatchObject([{ version: 1, active: 0, policy_digest: digestOf(policy) }])
    })

    it('numbers versions per policy without gaps, also for parallel publishers', async () => {
      const body = intent()
      const answers = await Promise.all(Array.from({ length: 8 }, () => publish(body)))
      const versions = answers.map((answer) => Number(accepted(answer, 201)['version']))
      expect(versions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    })

    it('stores config and gates as they were sent, and distinguishes integers from doubles', async () => {
      const config = { path: 'request_parameters.x', max: new JsonFloat(10), inclusive: false }
      const gates = [gate({ gate_id: 'b', order: 5, config }), gate({ gate_id: 'a', order: 1 })]
      const policy = await publishPolicy(na, { gates })
      const stored = policy['gates'] as readonly JsonObject[]
      expect(stored.map((each) => each['gate_id'])).toEqual(['b', 'a'])
      expect(stored[0]?.['config']).toEqual(config)
    })

    it('writes the validity period in UTC', async () => {
      const window = { valid_from: '2027-01-01T02:00:00+02:00', valid_until: '2028-01-01T00:00:00.5-01:00' }
      expect(await publishPolicy(na, window)).toMatchObject({
        valid_from: '2027-01-01T00:00:00Z',
        valid_until: '2028-01-01T01:00:00.500000Z',
      })
    })

    it('records the publisher and the version', async () => {
      const policy = await publishPolicy(na)
      const events = await na.auditEvents('boundary_policy_published')
      expect(events.map((event) => event['details'])).toContainEqual({
        policy_id: policy['policy_id'],
        version: 1,
        policy_digest: digestOf(policy),
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: expect.any(String),
      })
    })

    it('returns the same version for a repeated Idempotency-Key', async () => {
      const body = intent()
      const send = () =>
        na.as('privileged')('POST', '/admin/boundary-policies', body, { headers: { 'Idempotency-Key': 'publish-1' } })
      const [first, again] = [await send(), await send()]
      accepted(first, 201)
      expect(again).toMatchObject({ status: 201, text: first.text })
    })
  })

  describe('400', () => {
    const cases: [string, JsonObject, string, JsonValue?][] = [
      [
        'members the authority assigns',
        intent({ version: 1, signature: null }),
        'unexpected_field',
        ['signature', 'version'],
      ],
      [
        'an assigned member before an unknown one',
        intent({ zeta: 1, issued_at: 'x' }),
        'unexpected_field',
        ['issued_at'],
      ],
      ['unknown members', intent({ zeta: 1, alpha: 2 }), 'unexpected_field', ['alpha', 'zeta']],
      ['no policy_id', intent({ policy_id: '' }), 'missing_policy_id'],
      ['a numeric policy_id', intent({ policy_id: 5 }), 'missing_policy_id'],
      ['no validity period', intent({ valid_from: null }), 'missing_validity_window'],
      ['an unreadable time', intent({ valid_from: 'soon' }), 'invalid_boundary_policy'],
      ['gates that are not a list', intent({ gates: {} }), 'invalid_boundary_policy'],
      ['an order of 1.0', intent({ gates: [gate({ order: new JsonFloat(1) })] }), 'invalid_boundary_policy'],
      ['an unknown mode', intent({ gates: [gate({ mode: 'warn' })] }), 'invalid_boundary_policy'],
      ['an unknown member of a gate', intent({ gates: [gate({ extra: 1 })] }), 'invalid_boundary_policy'],
      ['a long description', intent({ description: 'x'.repeat(1025) }), 'invalid_boundary_policy'],
      ['a policy with issues', intent({ gates: [] }), 'boundary_policy_invalid'],
    ]
    it.each(cases)('refuses %s and stores nothing', async (_title, body, code, fields) => {
      const before = await countRows()
      const { details } = refused(await publish(body), 400, code) as { details: JsonObject }
      if (fields !== undefined) expect(details['fields']).toEqual(fields)
      expect(await countRows()).toBe(before)
      if (code !== 'boundary_policy_invalid') refused(await validate(body), 400, code)
    })

    it('names at most 16 wrong members and no value', async () => {
      const body = intent({ gates: Array<string>(40).fill('canary-9') })
      const answer = await publish(body)
      const { details } = refused(answer, 400, 'invalid_boundary_policy') as { details: JsonObject }
      expect(details['errors']).toHaveLength(16)
      expect(answer.text).not.toContain('canary-9')
    })

    it('lists the same issues as validation', async () => {
      const body = intent({ policy_id: 'a b', gates: [gate({ gate_type: 'no.v1' })] })
      const { details } = refused(await publish(body), 400, 'boundary_policy_invalid') as { details: JsonObject }
      const verdict = accepted(await validate(body))
      expect(details).toEqual({ valid: false, issues: verdict['issues'] ?? null })
    })
  })

  it('401 and 403: only for privileged operators', async () => {
    refused(await na.request('POST', '/admin/boundary-policies', { body: intent() }), 401, 'admin_auth_failed')
    refused(await publish(intent(), 'standard'), 403, 'insufficient_operator_tier')
  })
})

describe('a policy that selects by parent_kinds', () => {
  it.each([
    [['agreement'], 'is not selected'],
    [['agreement', 'direct'], 'is selected'],
  ])(
    '%j warns that an omitted kind counts as direct, at validation and in the event of its publication',
    async (kinds, effect) => {
      const body = intent({ selector: { parent_kinds: kinds } })
      const { valid, warnings } = accepted(await validate(body)) as { valid: boolean; warnings: JsonObject[] }
      expect(valid).toBe(true)
      expect(warnings.map((warning) => warning['code'])).toEqual(['parent_kind_may_be_omitted'])
      expect(String(warnings[0]?.['message'])).toContain(`counts as direct and ${effect}`)
      const [event] = await eventsOf(na, await publish(body))
      expect(detailsOf(event)).toMatchObject({ warnings: ['parent_kind_may_be_omitted'] })
    },
  )

  it('of attestations only does not warn, because the caller does not choose that kind', async () => {
    const body = intent({ selector: { parent_kinds: ['attestation'] } })
    expect(accepted(await validate(body))['warnings']).toEqual([])
    expect(detailsOf((await eventsOf(na, await publish(body)))[0])).not.toHaveProperty('warnings')
  })
})

describe('POST /admin/boundary-policies/validate', () => {
  it('returns 200 with the next version, stores nothing and records an event', async () => {
    const body = intent()
    const before = await countRows()
    expect(accepted(await validate(body))).toEqual({
      valid: true,
      issues: [],
      warnings: [],
      policy_id: body['policy_id'],
      next_version: 1,
    })
    expect(await countRows()).toBe(before)
    accepted(await publish(body), 201)
    expect(accepted(await validate(body))['next_version']).toBe(2)
    const events = (await na.auditEvents('boundary_policy_validated')).map((event) => event['details'] as JsonObject)
    expect(events.filter((each) => each['policy_id'] === body['policy_id'])).toMatchObject([
      { version: 1, issue_codes: [] },
      { version: 2, issue_codes: [] },
    ])
  })

  it('returns 200 with every issue', async () => {
    const body = intent({ gates: [gate({ gate_id: 'Big' })], selector: { capabilities: ['*'] } })
    const { valid, issues } = accepted(await validate(body))
    expect(valid).toBe(false)
    expect((issues as JsonObject[]).map(({ code, gate_id }) => [code, gate_id])).toEqual([
      ['invalid_gate_id', 'Big'],
      ['invalid_selector', undefined],
    ])
  })

  it('401: only for operators', async () => {
    refused(await na.request('POST', '/admin/boundary-policies/validate', { body: intent() }), 401, 'admin_auth_failed')
  })
})
