import { monitorEventLoopDelay } from 'node:perf_hooks'
import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ScriptedAuthority, startScriptedAuthority } from '../../scripted-authority.suite.ts'

const MIB = 1024 * 1024
const caller = testClient('caller', ['agency'], { service_groups: ['network', 'boundary'] })
const fill = (open: string, unit: string, close: string, size: number): string =>
  open + unit.repeat(Math.floor((size - open.length - close.length) / unit.length)) + close

let authority: ScriptedAuthority
let gateway: TestGateway
beforeAll(async () => {
  authority = await startScriptedAuthority()
  const by = await testIssuer('agency')
  const list = await testList(by, systemClock.now())
  const network = testNetwork(by, list, { authority_url: authority.url, allow_http: true })
  gateway = await startTestGateway({ policy: testPolicy({ agency: network }, [caller]) })
  await post('{"warm":1}')
})
afterAll(async () => {
  await gateway.stop()
  await authority.stop()
})

const post = (rawBody: string) =>
  gateway.request('POST', '/v1/networks/agency/services/boundary-verify', { token: caller.token, rawBody })
const read = () => gateway.request('GET', '/v1/networks/agency/services/crl-get-crl', { token: caller.token })

/** Longest block of the event loop, in the best of several tries, because other programs use this machine. */
async function blockedMs(work: () => Promise<unknown>): Promise<number> {
  let best = Infinity
  for (let tries = 0; tries < 20 && best > 25; tries += 1) {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    await work()
    delay.disable()
    best = Math.min(best, delay.max / 1e6 - 5)
  }
  return best
}

// Gateway, authority and caller share one loop here, so the result is higher than the gateway's part.
it.each([
  ['empty objects', fill('{"a":[', '{},', '0]}', MIB)],
  ['nested arrays', fill('{"a":[', `${'['.repeat(60)}${']'.repeat(60)},`, '0]}', MIB)],
])('a body of 1 MiB of %s blocks the event loop for less than 50 ms', async (_what, body) => {
  expect((await post(body)).status).toBe(200)
  expect(await blockedMs(() => post(body))).toBeLessThan(50)
})

it.each([
  ['empty objects', fill('{"a":[', '{},', '0]}', 2 * MIB)],
  ['nested arrays', '['.repeat(MIB - 1) + ']'.repeat(MIB - 1)],
])('a response of 2 MiB of %s blocks the event loop for less than 50 ms', async (_what, body) => {
  authority.answer = () => ({ body })
  // Not the usual test caller: its JSON parsing would be measured too.
  const parse = JSON.parse
  JSON.parse = () => ({})
  try {
    expect((await read()).text).toHaveLength(body.length)
    expect(await blockedMs(read)).toBeLessThan(50)
  } finally {
    JSON.parse = parse
  }
})
