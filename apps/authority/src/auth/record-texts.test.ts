import { ALL_ROUTES, ERRORS, type Route } from '@chancery/contract'
import { JsonFloat, justificationForm, readJson, readReceived, verifyReceived, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { readRecordTexts } from '@chancery/service-kit'
import {
  FloatNumber,
  accepted,
  foreignAttestation,
  foreignSovereign,
  ManualClock,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({
    clock,
    settings: { NA_CLOCK_CHECK: 'off', EVIDENCE_STORE: 'on' },
  })
})
afterAll(() => na.stop())

const taking = ALL_ROUTES.filter(({ records, access }) => records !== undefined && access !== 'node')
const members = taking.flatMap((route) =>
  Object.entries(route.records ?? {}).map(([name, code]) => ({ route, name, code, id: route.id })),
)

function post(route: Route, body: JsonObject): Promise<TestResponse> {
  const isOperatorRoute = route.access.startsWith('operator:')
  return isOperatorRoute ? na.as('privileged')('POST', route.path, body) : na.request('POST', route.path, { body })
}
/** The body with a member, which may be a member of a member. */
function bodyWith(path: string, changes: (name: string) => JsonObject): JsonObject {
  const [last = '', ...outer] = path.split('.').toReversed()
  return outer.reduce<JsonObject>((inner, name) => ({ [name]: inner }), changes(last))
}

describe('X_text of a route that takes the signed record X', () => {
  it('is known for all routes that verify or use a record', () => {
    expect(taking.length).toBeGreaterThanOrEqual(19)
  })

  it.each(members)('$id: $name as an invalid text is refused as malformed', async ({ route, name, code }) => {
    const status = route.statuses?.[code] ?? ERRORS[code].status
    const invalid = [
      (member: string) => ({ [`${member}_text`]: '{' }),
      (member: string) => ({ [`${member}_text`]: '{} x' }),
      (member: string) => ({ [`${member}_text`]: '{"a":1,"a":1}' }),
      (member: string) => ({ [`${member}_text`]: {} }),
      (member: string) => ({ [`${member}_text`]: '{}', [member]: {} }),
    ]
    for (const each of invalid) {
      const { details } = refused(await post(route, bodyWith(name, each)), status, code)
      expect(details).toEqual({ field: `${name.split('.').at(-1)}_text` })
    }
  })

  it('counts for its nesting as the record itself does', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    const route = { records: { policy: 'invalid_policy', 'presented.policy': 'invalid_policy' } } as const
    expect(readRecordTexts({ policy_text: nested(63) }, route)).toHaveProperty('policy')
    expect(() => readRecordTexts({ policy_text: nested(64) }, route)).toThrow('policy')
    expect(readRecordTexts({ presented: { policy_text: nested(62) } }, route)).toHaveProperty('presented.policy')
    expect(() => readRecordTexts({ presented: { policy_text: nested(63) } }, route)).toThrow('policy')
  })

  it('leaves a text that the route does not list', () => {
    const body = { reason_text: '{', presented: 1 }
    expect(readRecordTexts(body, { records: { 'presented.policy': 'invalid_policy' } })).toEqual(body)
  })

  it('preserves the form of numbers, which other JSON libraries do not', async () => {
    const treaty = accepted(
      await na.as('privileged')('POST', '/admin/recognition-treaties', {
        subject_sovereign_id: 'PARTNER-NET',
        subject_public_keys: [partner.publicKey],
        scope: { allowed_roles: ['role:client'] },
      }),
      201,
    )
    const text = wireText(foreignAttestation(partner, clock.now(), { claims: { limit: new FloatNumber(100) } }))
    expect(text).toMatch(/"limit" ?: ?100\.0/)
    const verify = async (body: JsonObject): Promise<unknown> =>
      accepted(await na.request('POST', '/attestations/verify-with-treaty', { body }))['reason']
    expect(await verify({ attestation: readJson(JSON.stringify(JSON.parse(text))), treaty })).toBe(
      'attestation_invalid_signature',
    )
    expect(await verify({ attestation_text: text, treaty })).toBe('accepted')
    expect(await verify({ attestation_text: text, treaty_text: writeJson(treaty) })).toBe('accepted')
  })

  it('is one request with the record itself for an Idempotency-Key', async () => {
    const terms = { capabilities: ['x'], valid_from: '2026-01-01T00:00:00Z', valid_until: '2027-01-01T00:00:00Z' }
    const asked = { ...terms, responder_sovereign_id: 'PARTNER-NET', expires_at: '2027-01-01T00:00:00Z' }
    const offer = accepted(await na.as('standard')('POST', '/admin/agreements/offer', asked), 201)
    const headers = { 'Idempotency-Key': 'text-1' }
    const first = await na.as('standard')('POST', '/admin/agreements/accept', { offer }, { headers })
    const again = await na.as('standard')(
      'POST',
      '/admin/agreements/accept',
      { offer_text: writeJson(offer) },
      { headers },
    )
    expect(accepted(again, 201)).toEqual(accepted(first, 201))
  })
})

describe('the limit of a policy', () => {
  it.each([
    ['1000', 1000, true],
    ['1000.0', new JsonFloat(1000), false],
  ])('configured as %s is so in the justification', async (form, max, survives) => {
    const capability = `count.${survives ? 'whole' : 'float'}`
    const config = { path: 'request_parameters.amount', max }
    const policy = {
      policy_id: capability,
      valid_from: '2025-01-01T00:00:00Z',
      valid_until: '2030-01-01T00:00:00Z',
      selector: { capabilities: [capability] },
      gates: [{ gate_id: 'amount', gate_type: 'max_value.v1', order: 0, config }],
    }
    const { version } = accepted(await na.as('privileged')('POST', '/admin/boundary-policies', policy), 201)
    const activate = `/admin/boundary-policies/${capability}/activate`
    accepted(await na.as('privileged')('POST', activate, { version: version ?? null }), 200)
    const member = { subject_id: 'vendor', roles: ['role:client'], claims: { capabilities: [capability] } }
    const { attestation_id } = accepted(await na.as('privileged')('POST', '/admin/attestations', member), 201)
    const answer = await na.as('standard')('POST', '/admin/boundary/evaluate', {
      attestation_id: attestation_id ?? null,
      requested_capability: capability,
      context: { request_parameters: { amount: 5 } },
    })
    const text = writeJson(accepted(answer, 201)['justification_proof'] ?? null)
    expect(text).toContain(`"max":${form},`)
    const read = readReceived(justificationForm, readJson(JSON.stringify(JSON.parse(text))))
    expect((await verifyReceived(read, [na.genesis.network_authority.public_key])).ok).toBe(survives)
  })
})
