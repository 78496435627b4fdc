import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents } from '../test-gateway.suite.ts'

const PER_ADDRESS = 20
const limited = testClient('limited', ['agency'], { requests_per_minute: 2 })
const over = testClient('over', ['agency'], { expires_at: '2020-01-01T00:00:00Z' })
const watcher = testClient('watcher', [], { metrics: true })
const WRONG = 'wrong-'.repeat(8)

// The clock is stopped, so no minute ends while a test counts.
const clock = new ManualClock()
let gateway: TestGateway
beforeEach(async () => {
  const by = await testIssuer('agency')
  gateway = await startTestGateway({
    clock,
    state: 'new',
    settings: { GATEWAY_AUDIT_REFUSALS_PER_MINUTE: '30', GATEWAY_AUTH_FAILURES_PER_MINUTE: '25' },
    policy: testPolicy({ agency: testNetwork(by, await testList(by, clock.now())) }, [limited, over, watcher]),
  })
})
afterEach(() => gateway.stop())

const ask = (from: string, token: string, path = '/v1/networks') => gateway.request('GET', path, { from, token })

async function pairsOf(ids: readonly unknown[]): Promise<readonly JsonObject[]> {
  return (await auditEvents(gateway)).filter((event) => ids.includes(event['request_id']))
}

async function sums(): Promise<readonly JsonObject[]> {
  await gateway.gateway.core.refusals.flush()
  return (await auditEvents(gateway)).filter(({ event }) => event === 'refused_requests')
}

describe('the audit of refused requests', () => {
  it('has both events of a refusal, with the reason and the client, without the credential', async () => {
    const wrong = await ask('127.0.0.2', WRONG)
    const expired = await ask('127.0.0.2', over.token)
    const id = wrong.headers['x-request-id']
    expect(await pairsOf([id])).toMatchObject([
      { event_id: `${String(id)}:started`, request_id: id, phase: 'started', method: 'GET', route: '/v1/networks' },
      {
        event_id: `${String(id)}:completed`,
        phase: 'completed',
        status: 401,
        context: { outcome: 'refused', reason: 'credential_invalid' },
      },
    ])
    const [, completed] = await pairsOf([expired.headers['x-request-id']])
    expect(completed?.['context']).toEqual({ outcome: 'refused', reason: 'credential_expired', client_id: 'over' })
    expect(JSON.stringify(await auditEvents(gateway))).not.toContain(WRONG)
  })

  it('401: separate events for up to 20 of an address and the setting in total, and a sum of the others', async () => {
    const ids: unknown[] = []
    for (const from of ['127.0.0.2', '127.0.0.3'])
      for (let n = 0; n < 25; n += 1) ids.push((await ask(from, WRONG)).headers['x-request-id'])
    expect(await pairsOf(ids)).toHaveLength(2 * 30)
    expect(await pairsOf(ids.slice(0, 25))).toHaveLength(2 * PER_ADDRESS)
    // Two, when a minute ended meanwhile.
    const found = await sums()
    expect(found.reduce((total, { count }) => total + Number(count), 0)).toBe(20)
    for (const sum of found) {
      expect(sum).toMatchObject({ route: '/v1/networks', status: 401, reason: 'credential_invalid' })
      expect(String(sum['first_at']) <= String(sum['last_at'])).toBe(true)
    }
  })

  it('429: separate events for ten of a client, and a sum of the rest; throttled unauthenticated callers are only summed up', async () => {
    const refused: unknown[] = []
    for (let n = 0; n < 17; n += 1) {
      const response = await ask('127.0.0.4', limited.token)
      if (response.status === 429) refused.push(response.headers['x-request-id'])
    }
    expect(refused).toHaveLength(15)
    expect(await pairsOf(refused)).toHaveLength(2 * 10)
    for (let n = 0; n < 28; n += 1) await ask('127.0.0.5', WRONG, '/metrics')
    const found = (await sums()).map(({ route, status, reason, client_id, count }) => [
      route,
      status,
      reason,
      client_id,
      count,
    ])
    expect(found).toContainEqual(['/v1/networks', 429, 'client_quota', 'limited', 5])
    expect(found).toContainEqual(['/metrics', 429, 'auth_throttled', undefined, 3])
    expect(await sums()).toHaveLength(found.length)
  })

  it('is counted when it cannot be written, and the response is unchanged', async () => {
    const { state } = gateway.gateway.core
    if (state === undefined) throw new Error('no state')
    const append = state.append.bind(state)
    state.append = () => Promise.reject(new Error('disk fault'))
    try {
      expect((await ask('127.0.0.6', WRONG)).status).toBe(401)
    } finally {
      state.append = append
    }
    const { text } = await gateway.request('GET', '/metrics', { token: watcher.token })
    expect(text).toMatch(/^gateway_audit_refusals_not_recorded_total 1$/m)
  })

  it.each([
    [0.71, 'sums only', 0, 3],
    [0.86, 'nothing', 0, 0],
  ])('uses no more of a state filled to %d than %s', async (part, _name, pairs, summed) => {
    const { state, settings } = gateway.gateway.core
    if (state === undefined) throw new Error('no state')
    const usage = { ...state.usage, usedBytes: settings.stateMaxBytes * part }
    Object.defineProperty(state, 'usage', { get: () => usage })
    const ids: unknown[] = []
    for (let n = 0; n < 3; n += 1) {
      const response = await ask('127.0.0.7', WRONG)
      expect(response.status).toBe(401)
      ids.push(response.headers['x-request-id'])
    }
    expect(await pairsOf(ids)).toHaveLength(pairs)
    expect((await sums()).reduce((total, { count }) => total + Number(count), 0)).toBe(summed)
    const { text } = await gateway.request('GET', '/metrics', { token: watcher.token })
    expect(text).toMatch(new RegExp(`^gateway_audit_refusals_not_recorded_total ${3 - summed}$`, 'm'))
  })

  it('sums are written when the process ends', async () => {
    const home = gateway.home
    for (let n = 0; n < 27; n += 1) await ask('127.0.0.2', WRONG)
    await gateway.stop('keep')
    gateway = await startTestGateway({
      clock,
      home,
      state: 'kept',
      policy: JSON.parse(await readPolicy(home)) as JsonObject,
    })
    const found = (await auditEvents(gateway)).filter(({ event }) => event === 'refused_requests')
    expect(found.reduce((sum, { count }) => sum + Number(count), 0)).toBe(27 - PER_ADDRESS)
  })
})

async function readPolicy(home: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(`${home}/policy.json`, 'utf8')
}
