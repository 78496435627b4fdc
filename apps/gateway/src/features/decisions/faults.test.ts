import type { JsonObject } from '@chancery/protocol'
import { accepted, startTestAuthority, testClient } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectRefusal } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from './deciding-gateway.suite.ts'

const plain = testClient('plain', ['TEST-NET'])
const limited = testClient('limited', ['TEST-NET'], { decisions: true, decisions_per_minute: 3 })

let setup: DecidingGateway
let allowed: string
beforeAll(async () => {
  setup = await startDecidingGateway({ kind: 'operator', clients: [plain, limited] })
  allowed = await setup.attest()
})
beforeEach(() => {
  setup.change = (answer) => answer
  setup.asked.length = 0
})
afterAll(() => setup.stop())

let questions = 0
/** A question that was not asked before, so that no decision is reused. */
function question(action = 'print', attestation = allowed): JsonObject {
  questions += 1
  const resource = { type: 'printer', id: `p${questions}` }
  return { subject: { type: 'attestation', id: attestation }, action: { name: action }, resource }
}

const edit = (answer: JsonObject, name: string, members: JsonObject): JsonObject => ({
  ...answer,
  [name]: { ...(answer[name] as JsonObject), ...members },
})

async function expectUnverified(change: DecidingGateway['change'], reason: string, asked = question()): Promise<void> {
  setup.change = change
  const answer = await setup.ask(asked)
  expectRefusal(answer, 502, 'bad_gateway', 'decision_unverified')
  expect(answer.body['details']).toEqual({ reason })
  // Nothing of it is stored.
  setup.change = (given) => given
  const before = setup.asked.length
  expect((await setup.ask(asked)).status).toBe(200)
  expect(setup.asked).toHaveLength(before + 1)
}

describe('a decision that does not verify is never passed on', () => {
  it('forged: another key, a denial made into permission, reasons of another decision', async () => {
    const sig = Buffer.alloc(64, 7).toString('base64')
    const forged = { signature: { key_id: 'na-test', sig } }
    await expectUnverified((answer) => edit(answer, 'decision', forged), 'invalid_signature')
    const permit = { authorized: true, denial_reason: null }
    await expectUnverified((answer) => edit(answer, 'decision', permit), 'invalid_signature', question('erase'))
    await expectUnverified((answer) => edit(answer, 'decision', { signature: null }), 'missing_signature')
    await expectUnverified(({ decision: _decision, ...rest }) => rest, 'malformed')
    await expectUnverified((answer) => edit(answer, 'justification_proof', forged), 'justification_invalid_signature')
  })

  it('genuine, but for another question, another attestation or expired', async () => {
    const answers: JsonObject[] = []
    setup.change = (answer) => {
      answers.push(answer)
      return answer
    }
    await setup.ask(question())
    await setup.ask(question('print', await setup.attest()))
    const [earlier, foreign] = answers
    await expectUnverified(() => earlier, 'context_mismatch', question('erase'))
    await expectUnverified(() => foreign, 'basis_mismatch')
    setup.clock.advance(301)
    await expectUnverified(() => earlier, 'decision_expired')
  })

  it('of a former key whose time is over, also while its list is used', async () => {
    const { public_key } = setup.na.genesis.network_authority
    const written = await setup.policy()
    const networks = written['networks'] as Record<string, JsonObject>
    const former = (valid_to: string): JsonObject => ({
      key_id: 'na-test',
      public_key,
      valid_from: '2025-01-01T00:00:00Z',
      valid_to,
    })
    const follow = (key: JsonObject): Promise<void> =>
      setup.gateway.reload({ ...written, networks: { 'TEST-NET': { ...networks['TEST-NET'], former_keys: [key] } } })
    await follow(former('2025-12-31T00:00:00Z'))
    expectRefusal(await setup.ask(question()), 502, 'bad_gateway', 'decision_unverified')
    // Until it is over, authority and gateway may still have it as the present one.
    await follow(former('2027-01-01T00:00:00Z'))
    expect((await setup.ask(question())).status).toBe(200)
    await setup.gateway.reload(written)
  })

  it('of another network with the same key', async () => {
    const away = await startTestAuthority({ clock: setup.clock, network: 'OTHER-NET', keys: '' })
    try {
      const claims = { capabilities: ['print'] }
      const body = { subject_id: 'agent-7', roles: ['role:client'], validity_hours: 24, claims }
      const { attestation_id = '' } = accepted(await away.as('privileged')('POST', '/admin/attestations', body), 201)
      const asked = { attestation_id, requested_capability: 'print' }
      const answer = accepted(await away.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
      await expectUnverified(() => answer, 'network_mismatch')
    } finally {
      await away.stop()
    }
  })
})

it('an authority that is down is an error, and in a batch a denial with its error', async () => {
  setup.change = () => undefined
  expectRefusal(await setup.ask(question()), 502, 'bad_gateway', 'authority_unreachable')
  const { asker, gateway } = setup
  const body = { evaluations: [question(), { subject: 1 }] }
  const batch = await gateway.request('POST', '/access/v1/evaluations', { token: asker.token, body })
  expect([batch.status, batch.body]).toMatchObject([
    200,
    {
      evaluations: [
        { decision: false, context: { error: { status: 502, reason: 'authority_unreachable' } } },
        { decision: false, context: { error: { status: 400, reason: 'question_invalid' } } },
      ],
    },
  ])
})

it('a client without the grant is refused before its body is read, and the quota counts every question', async () => {
  const headers = { 'x-request-id': 'kept' }
  const refused = await setup.gateway.request('POST', '/access/v1/evaluation', {
    token: plain.token,
    rawBody: '{',
    headers,
  })
  expect([refused.status, refused.body['reason'], refused.headers['x-request-id']]).toEqual([
    403,
    'decisions_scope',
    'kept',
  ])
  expect((await setup.gateway.request('POST', '/access/v1/evaluation', { body: {} })).status).toBe(401)
  const { token } = limited
  const evaluations = [question(), question()]
  const batch = () => setup.gateway.request('POST', '/access/v1/evaluations', { token, body: { evaluations } })
  expect((await batch()).status).toBe(200)
  expectRefusal(await batch(), 429, 'rate_limited', 'decision_quota')
  expect((await setup.ask(question(), { token })).status).toBe(200)
  expectRefusal(await setup.ask(question(), { token }), 429, 'rate_limited', 'decision_quota')
})

it('a batch above the quota of the client is 400, because repeating it cannot help', async () => {
  const ask = (token: string, count: number) => {
    const body = { evaluations: Array.from({ length: count }, () => ({})) }
    return setup.gateway.request('POST', '/access/v1/evaluations', { token, body })
  }
  const own = await ask(limited.token, 4)
  expectRefusal(own, 400, 'invalid_request', 'batch_too_large')
  expect(own.body['details']).toEqual({ maximum: 3 })
  expect((await ask(setup.asker.token, 129)).body['details']).toEqual({ maximum: 128 })
  expect((await ask(setup.asker.token, 128)).status).toBe(200)
})

it('a body of another type is 400, as AuthZEN requires', async () => {
  const options = { headers: { 'content-type': 'text/plain' } }
  expectRefusal(await setup.ask(question(), options), 400, 'invalid_request', 'content_type')
})

it.each<[string, JsonObject, string]>([
  ['no subject', { subject: null }, 'subject'],
  ['a colon in the type of the subject', { subject: { type: 'node:urn', id: 'x' } }, 'subject.type'],
  ['no id of the resource', { resource: { type: 'printer' } }, 'resource.id'],
  ['no action', { action: {} }, 'action.name'],
  ['a reserved attribute', { context: { chancery_request: {} } }, 'context'],
  ['a sovereign without its agreement', { subject: { type: 'sovereign', id: 'B' } }, 'context.chancery.agreement'],
])('400: %s', async (_what, members, path) => {
  const answer = await setup.ask({ ...question(), ...members })
  expectRefusal(answer, 400, 'invalid_request', 'question_invalid')
  expect([answer.body['details'], setup.asked]).toEqual([{ path }, []])
})

it('400 for duplicate members, 403 for a network that is not the client’s', async () => {
  const rawBody = '{"subject":{"type":"a","type":"b","id":"c"}}'
  const { token } = setup.asker
  const twice = await setup.gateway.request('POST', '/access/v1/evaluation', { token, rawBody })
  expectRefusal(twice, 400, 'invalid_request', 'invalid_json')
  const named = await setup.ask({ ...question(), context: { chancery: { network: 'elsewhere' } } })
  expectRefusal(named, 403, 'forbidden', 'network_scope')
})
