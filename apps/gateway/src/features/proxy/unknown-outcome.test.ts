import { GATEWAY_OPERATIONS } from '@chancery/contract'
import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { GatewayResponse, TestGateway } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Script, type ScriptedAuthority, startScriptedAuthority } from '../../scripted-authority.suite.ts'
import { RawCaller, auditEvents, expectRefusal, rawRequest } from '../../test-gateway.suite.ts'
import { ProxyReader } from './send.ts'

const GROUPS = [...new Set(GATEWAY_OPERATIONS.map(({ group }) => group))]
const caller = testClient('caller', ['agency', 'dead'], { service_groups: GROUPS, authority_admin: true })
const SIGNED = {
  'X-Admin-Key-Id': 'op-1',
  'X-Admin-Timestamp': '2026-03-02T10:00:00Z',
  'X-Admin-Nonce': '5b0c0f0e-1c1d-4e2f-8a3b-000000000002',
  'X-Admin-Signature': 'not-judged-here',
}

let authority: ScriptedAuthority
let gateway: TestGateway

beforeAll(async () => {
  authority = await startScriptedAuthority()
  const network = async (name: string, authority_url: string) => {
    const by = await testIssuer(name)
    return testNetwork(by, await testList(by, systemClock.now()), { authority_url, allow_http: true })
  }
  gateway = await startTestGateway({
    state: 'new',
    settings: { GATEWAY_TIMEOUT_MS: '600' },
    policy: testPolicy(
      { agency: await network('agency', authority.url), dead: await network('dead', 'http://127.0.0.1:1') },
      [caller],
    ),
  })
})
beforeEach(() => {
  authority.seen.length = 0
  authority.answer = () => ({})
})
afterAll(async () => {
  await gateway.stop()
  await authority.stop()
})

const pathOf = (operation: string, network = 'agency'): string => `/v1/networks/${network}/services/${operation}`

function post(operation: string, network = 'agency'): Promise<GatewayResponse> {
  return gateway.request('POST', pathOf(operation, network), { token: caller.token, body: {}, headers: SIGNED })
}

async function eventsOf(requestId: unknown) {
  return (await auditEvents(gateway)).filter((event) => event['request_id'] === requestId)
}

describe('a body that arrives after the deadline', () => {
  it.each(['enrollment-request-join', 'admin-create-invite', 'discovery-register-agent'])(
    'of %s is never forwarded, and the audit has 408 and no authority status',
    async (operation) => {
      // With an open connection a late body would be forwarded immediately.
      await gateway.request('GET', pathOf('crl-get-crl'), { token: caller.token })
      authority.seen.length = 0
      const body = '{"invite_token":"one-time"}'
      const sent = rawRequest('POST', pathOf(operation), {
        token: caller.token,
        length: body.length,
        sent: body.slice(0, 5),
        headers: SIGNED,
      })
      const late = new RawCaller(gateway.url, sent)
      expect(await late.status()).toBe(408)
      late.socket.write(body.slice(5))
      await new Promise((done) => setTimeout(done, 400))
      late.socket.destroy()
      expect(authority.seen).toEqual([])
      const [started, completed, ...more] = await eventsOf(late.requestId)
      expect([started?.['phase'], completed?.['phase'], more]).toEqual(['started', 'completed', []])
      expect(completed).toMatchObject({ status: 408 })
      expect(completed?.['context']).not.toHaveProperty('upstream_status')
      expect(completed?.['context']).not.toHaveProperty('outcome_uncertain')
    },
  )
})

describe('a change that was sent', () => {
  const cases: readonly (readonly [string, Script])[] = [
    ['and cut off', { does: 'cut' }],
    ['and cut off inside the response', { does: 'half' }],
    ['and got no response', { does: 'silent' }],
    ['and got a response that is not JSON', { body: 'done' }],
    ['and got a response over the size limit', { does: 'stream' }],
    ['and failed at a proxy of the authority', { status: 504 }],
  ]
  it.each(cases)('%s has an unknown outcome, for the caller and the audit', async (_what, script) => {
    authority.answer = () => script
    const answer = await post('admin-create-invite')
    expect([408, 502]).toContain(answer.status)
    expect(answer.body['outcome_uncertain']).toBe(true)
    expect(authority.seen).toHaveLength(1)
    const [, completed] = await eventsOf(answer.headers['x-request-id'])
    expect(completed).toMatchObject({ status: answer.status, context: { outcome_uncertain: true } })
  })

  it('and executed, but not forwarded in time, has an unknown outcome', async () => {
    const hasForm = vi.spyOn(ProxyReader.prototype, 'hasForm').mockReturnValue(new Promise(() => undefined))
    authority.answer = () => ({ status: 201 })
    try {
      const answer = await post('admin-create-invite')
      expect([answer.status, answer.body['outcome_uncertain']]).toEqual([408, true])
      const [, completed] = await eventsOf(answer.headers['x-request-id'])
      expect(completed).toMatchObject({ context: { upstream_status: 201, outcome_uncertain: true } })
    } finally {
      hasForm.mockRestore()
    }
  })

  it('and refused has a known outcome', async () => {
    for (const status of [400, 503]) {
      authority.answer = () => ({ status, body: '{"error":{"code":"x","message":"y"}}' })
      expect((await post('admin-create-invite')).body).not.toHaveProperty('outcome_uncertain')
    }
  })
})

describe('the outcome is certain', () => {
  it('when no connection was made', async () => {
    const answer = await post('admin-create-invite', 'dead')
    expectRefusal(answer, 502, 'bad_gateway', 'authority_unreachable')
    expect(answer.body).not.toHaveProperty('outcome_uncertain')
  })

  it('for a read', async () => {
    authority.answer = () => ({ does: 'cut' })
    expect((await post('boundary-verify')).body).not.toHaveProperty('outcome_uncertain')
    const read = await gateway.request('GET', pathOf('crl-get-crl'), { token: caller.token })
    expect(read.body).not.toHaveProperty('outcome_uncertain')
  })
})
