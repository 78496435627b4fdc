import { type JsonObject, type JsonValue, asJson } from '@chancery/protocol'
import type { GatewayResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { auditEvents, expectRefusal } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from './deciding-gateway.suite.ts'

let setup: DecidingGateway
let allowed: JsonObject
beforeAll(async () => {
  setup = await startDecidingGateway({ kind: 'operator', state: 'new' })
  const subject = { type: 'attestation', id: await setup.attest() }
  allowed = { subject, action: { name: 'print' }, resource: { type: 'printer', id: 'p1' } }
})
beforeEach(() => {
  setup.change = (answer) => answer
})
afterAll(() => setup.stop())

function askAll(evaluations: JsonValue, defaults: JsonObject = {}): Promise<GatewayResponse> {
  const { token } = setup.asker
  return setup.gateway.request('POST', '/access/v1/evaluations', { token, body: { ...defaults, evaluations } })
}
const resource = (id: string): JsonObject => ({ resource: { type: 'printer', id } })

async function lastDecisions(): Promise<JsonValue | undefined> {
  const last = (await auditEvents(setup.gateway)).findLast(({ phase }) => phase === 'completed')
  return (last as { context: JsonObject }).context['decisions']
}

it('a null in an item does not take the default', async () => {
  const { body } = await askAll([{}, { subject: null }, { action: null }], allowed)
  const refused = { decision: false, context: { error: { status: 400, reason: 'question_invalid' } } }
  expect(body).toMatchObject({ evaluations: [{ decision: true }, refused, refused] })
  expectRefusal(await askAll(null, allowed), 400, 'invalid_request', 'question_invalid')
})

it('a decision that ends while later questions wait is not an allow', async () => {
  expect((await setup.ask(allowed)).body['decision']).toBe(true)
  setup.change = (answer) => {
    setup.clock.advance(301)
    return answer
  }
  const { body } = await askAll([allowed, { ...allowed, ...resource('p2') }])
  expect(body).toMatchObject({
    evaluations: [
      { decision: false, context: { reason: 'decision_expired' } },
      { decision: false, context: { error: { status: 502, reason: 'decision_unverified' } } },
    ],
  })
  expect(await lastDecisions()).toEqual([
    { decision_id: expect.any(String) as string, authorized: false, reused: true, reason: 'decision_expired' },
    { decision_id: null, authorized: false, reused: false, reason: 'decision_unverified' },
  ])
})

it('the audit has one entry for each question, in their order', async () => {
  const unknown = { ...allowed, subject: { type: 'user', id: 'alice' } }
  await askAll([unknown, { ...allowed, ...resource('p3') }, { subject: 1 }])
  expect(await lastDecisions()).toEqual([
    { decision_id: null, authorized: false, reused: false, reason: 'subject_unknown' },
    { decision_id: expect.any(String) as string, authorized: true, reused: false },
    { decision_id: null, authorized: false, reused: false, reason: 'question_invalid' },
  ])
})

it('a body that is too large or too deep is refused', async () => {
  const large = await askAll([{}], { ...allowed, context: { text: 'x'.repeat(131_072) } })
  expectRefusal(large, 413, 'payload_too_large', 'body')
  let deep: JsonValue = 1
  for (let i = 0; i < 50; i += 1) deep = [deep]
  expectRefusal(await setup.ask({ ...allowed, context: { deep } }), 400, 'invalid_request', 'invalid_json')
})

it('a node is decided with a certificate of this network only', async () => {
  const { relayCertificate: certificate } = setup
  const subjects = { [`node:${certificate.cert_id}`]: String((allowed['subject'] as JsonObject)['id']) }
  await setup.gateway.reload(await setup.policy({ subjects }))
  const ask = (members: JsonObject): Promise<GatewayResponse> => {
    const properties = { certificate: { ...asJson(certificate), ...members } }
    return setup.ask({ ...allowed, subject: { type: 'node', id: certificate.cert_id, properties } })
  }
  expect((await ask({})).body['decision']).toBe(true)
  const unknown = { decision: false, context: { reason: 'subject_unknown' } }
  expect((await ask({ network_name: 'OTHER-NET' })).body).toEqual(unknown)
  expect((await ask({ issued_by: 'other-issuer' })).body).toEqual(unknown)
  const forged = await ask({ roles: ['role:anchor'] })
  expect(forged.body).toEqual({ decision: false, context: { reason: 'certificate_untrusted' } })
})
