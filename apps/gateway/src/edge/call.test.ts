import { testClient, startTestGateway, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ScriptedAuthority, startScriptedAuthority } from '../scripted-authority.suite.ts'
import { RawCaller, expectRefusal, rawRequest } from '../test-gateway.suite.ts'

const PLACES = 4
const rights = { service_groups: ['network', 'boundary'] }
const greedy = testClient('greedy', ['agency'], rights)
const other = testClient('other', ['agency'], rights)
/** Not a public document, which is read once for all waiting callers. */
const READ = '/v1/networks/agency/services/health-health'

let authority: ScriptedAuthority
let gateway: TestGateway
beforeAll(async () => {
  authority = await startScriptedAuthority()
  const by = await testIssuer('agency')
  const list = await testList(by, systemClock.now())
  const network = testNetwork(by, list, { authority_url: authority.url, allow_http: true })
  gateway = await startTestGateway({
    settings: { GATEWAY_MAX_INFLIGHT: String(PLACES), GATEWAY_TIMEOUT_MS: '2000' },
    policy: testPolicy({ agency: network }, [greedy, other]),
  })
})
beforeEach(() => {
  authority.answer = () => ({})
})
afterAll(async () => {
  await gateway.stop()
  await authority.stop()
})

const networks = (token: string) => gateway.request('GET', '/v1/networks', { token })

describe('slots', () => {
  it('are not used by bodies that do not arrive', async () => {
    const sent = rawRequest('POST', '/verify', { token: greedy.token, length: 100, sent: '{' })
    const held = Array.from({ length: 5 * PLACES }, () => new RawCaller(gateway.url, sent))
    await new Promise((done) => setTimeout(done, 200))
    for (const { token } of [other, greedy, other]) expect((await networks(token)).status).toBe(200)
    expect(await Promise.all(held.map((each) => each.status()))).toEqual(held.map(() => 408))
    for (const each of held) each.socket.destroy()
  })

  it('are shared: a client with all its slots in use leaves one for the next client', async () => {
    authority.answer = () => ({ does: 'silent' })
    const before = authority.seen.length
    const slow = Array.from({ length: 3 * PLACES }, () => gateway.request('GET', READ, { token: greedy.token }))
    for (let tries = 0; tries < 2000 && authority.seen.length < before + 3; tries += 1)
      await new Promise((done) => setTimeout(done, 5))
    expectRefusal(await networks(greedy.token), 503, 'unavailable', 'overloaded')
    expect((await networks(other.token)).status).toBe(200)
    const statuses = (await Promise.all(slow)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 503)).toHaveLength(3 * PLACES - 3)
    expect((await networks(greedy.token)).status).toBe(200)
  })
})
