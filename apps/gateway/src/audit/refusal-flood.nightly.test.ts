import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands, initializeState, readGatewaySettings } from '@chancery/gateway'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import { startGatewayProcess, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { GatewayProcess } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const PER_MINUTE = 30
const PER_ADDRESS = 20
const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
const WRONG = 'wrong-'.repeat(8)

let home: string
let env: Readonly<Record<string, string>>
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'chancery-gateway-flood-'))
  env = {
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_STATE_FILE: join(home, 'gateway.state'),
    GATEWAY_AUTH_FAILURES_PER_MINUTE: '100000',
    GATEWAY_AUDIT_REFUSALS_PER_MINUTE: String(PER_MINUTE),
  }
  const by = await testIssuer('agency')
  const network = testNetwork(by, await testList(by, systemClock.now()))
  const policy = testPolicy({ agency: network }, [testClient('caller', ['agency'])])
  await writeFile(join(home, 'policy.json'), writeJson(policy), { mode: 0o600 })
  await initializeState(settings(), { clock: systemClock, ids: systemIds })
})
afterEach(() => rm(home, { recursive: true, force: true }))

const settings = () => requireValues(readGatewaySettings({ flags: {}, env }))

async function start(): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess(env)
  if (gateway === undefined) throw new Error('the gateway does not start')
  return gateway
}

/** Sends requests with a wrong credential from several addresses, and returns the ids of the refusals. */
async function flood(gateway: GatewayProcess, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  let sent = 0
  const lane = async (from: string): Promise<void> => {
    while (sent < count) {
      sent += 1
      const answer = await gateway.request('GET', '/v1/networks', { from, token: WRONG }).catch(() => undefined)
      if (answer === undefined) return
      expect(answer.status).toBe(401)
      ids.push(String(answer.headers['x-request-id']))
    }
  }
  await Promise.all(ADDRESSES.flatMap((from) => Array.from({ length: 4 }, () => lane(from))))
  return ids
}

async function exported(): Promise<readonly JsonObject[]> {
  expect((await commands.audit.verify(settings())).exitCode).toBe(0)
  let text = ''
  await commands.audit.export(settings(), async (lines) => {
    text += lines
  })
  expect(text).not.toContain(WRONG)
  const lines = text.trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as JsonObject)
}

const pairsIn = (events: readonly JsonObject[]): number => events.filter(({ phase }) => phase === 'completed').length

describe('a flood of refused requests', () => {
  it('writes a bounded number of events, and sums that add up', async () => {
    const startedMs = performance.now()
    const gateway = await start()
    const ids = await flood(gateway, 10_000)
    await gateway.stop()
    const minutes = Math.floor((performance.now() - startedMs) / 60_000) + 1

    const events = await exported()
    const pairs = pairsIn(events)
    expect(pairs).toBeGreaterThanOrEqual(PER_MINUTE)
    expect(pairs).toBeLessThanOrEqual(PER_MINUTE * minutes)
    const sums = events.filter(({ event }) => event === 'refused_requests')
    expect(sums.length).toBeLessThanOrEqual(minutes + 1)
    expect(sums.reduce((total, { count }) => total + Number(count), pairs)).toBe(ids.length)
  })

  it('leaves a complete chain and whole pairs after kill -9', async () => {
    const gateway = await start()
    const early = await flood(gateway, PER_ADDRESS)
    const rest = flood(gateway, 100_000)
    await gateway.request('GET', '/v1/networks', { token: WRONG })
    await gateway.kill()
    await rest

    // The first start after the kill rolls back an unfinished write.
    const next = await start()
    await next.stop()
    const events = await exported()
    const stored = new Set(events.map(({ event_id }) => event_id))
    for (const id of early) expect([stored.has(`${id}:started`), stored.has(`${id}:completed`)]).toEqual([true, true])
    expect(events.filter(({ phase }) => phase === 'started')).toHaveLength(pairsIn(events))
    expect(pairsIn(events)).toBeLessThanOrEqual(PER_MINUTE * 2)
  })
})
