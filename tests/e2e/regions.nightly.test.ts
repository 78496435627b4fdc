import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { type JoinCertificate, type JsonObject, instantOf, readRevocationList, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  COMPILE_CACHE,
  accepted,
  createTestNetwork,
  enroll,
  nodeCaller,
  operatorCaller,
  send,
  sendGatewayRequest,
  startTemporaryPostgres,
  testClient,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { TemporaryPostgres, TestNetwork, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

const TESTKIT = join(import.meta.dirname, '../../packages/testkit/src')
const MOVED_CLOCK = new URL('../campaigns/lib/moved-clock.ts', import.meta.url).href
/** Two regions, as network namespaces, and a link between them. The test reaches each by a separate link. */
const HOME = { space: `home${process.pid}`, link: '10.213.77.1', test: '10.213.77.5', outside: '10.213.77.6' }
const AWAY = { space: `away${process.pid}`, link: '10.213.77.2', test: '10.213.77.9', outside: '10.213.77.10' }
const [NA_PORT, GATEWAY_PORT] = [8443, 8080]
const LIMIT = { timeout: 30_000, interval: 200 }

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' })

const waitFor200 = (request: () => Promise<{ readonly status: number }>): Promise<void> =>
  vi.waitFor(async () => {
    const { status } = await request()
    if (status !== 200) throw new Error(`status ${status}`)
  }, LIMIT)

/** Undefined when namespaces can be made here. */
function whyNot(): string | undefined {
  try {
    ip('netns', 'add', HOME.space)
    ip('netns', 'del', HOME.space)
    return undefined
  } catch (error) {
    return `no network namespaces (ip netns needs root and iproute2): ${String(error).split('\n')[0]}`
  }
}

const reason = whyNot()

describe.skipIf(reason !== undefined)(`two regions and a cut link${reason === undefined ? '' : ` (${reason})`}`, () => {
  const children: ChildProcess[] = []
  const caller = testClient('relying-service', ['TEST-NET'])
  let folder: string
  let server: TemporaryPostgres | undefined
  let network: TestNetwork
  let clockFile: string
  let movedMs = 0
  const naUrl = `http://${HOME.test}:${NA_PORT}`
  const gatewayUrl = `http://${AWAY.test}:${GATEWAY_PORT}`
  const now = () => systemClock.now() + BigInt(movedMs) * 1000n

  beforeAll(async () => {
    openSpaces()
    folder = await mkdtemp(join(tmpdir(), 'chancery-regions-'))
    clockFile = join(folder, 'clock')
    await writeFile(clockFile, '0')
    network = await createTestNetwork('TEST-NET')
    server = await startTemporaryPostgres(tmpdir(), ['ip', 'netns', 'exec', HOME.space])
    start(HOME.space, 'authority-process-main.ts', {
      ...network.settings,
      HOST: '0.0.0.0',
      PORT: String(NA_PORT),
      DATABASE_URL: server.url,
      NA_CLOCK_CHECK: 'off',
    })
    await waitFor200(() => send(naUrl, 'GET', '/readyz'))
    start(AWAY.space, 'gateway-process-main.ts', await gatewayEnv())
    await waitFor200(() => ask('GET', '/ready'))
  })
  afterAll(async () => {
    for (const child of children) {
      const ended = once(child, 'exit')
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended
    }
    await server?.remove()
    await network.remove()
    // The link that reaches it goes with it.
    for (const { space } of [HOME, AWAY]) ip('netns', 'del', space)
    await rm(folder, { recursive: true, force: true })
  })

  function openSpaces(): void {
    for (const { space } of [HOME, AWAY]) {
      ip('netns', 'add', space)
      ip('-n', space, 'link', 'set', 'lo', 'up')
    }
    ip('link', 'add', 'name', 'wan', 'netns', HOME.space, 'type', 'veth', 'peer', 'name', 'wan', 'netns', AWAY.space)
    for (const { space, link, test, outside } of [HOME, AWAY]) {
      ip('-n', space, 'addr', 'add', `${link}/30`, 'dev', 'wan')
      ip('-n', space, 'link', 'set', 'wan', 'up')
      ip('link', 'add', 'name', space, 'type', 'veth', 'peer', 'name', 'inside', 'netns', space)
      ip('addr', 'add', `${outside}/30`, 'dev', space)
      ip('link', 'set', space, 'up')
      ip('-n', space, 'addr', 'add', `${test}/30`, 'dev', 'inside')
      ip('-n', space, 'link', 'set', 'inside', 'up')
    }
  }

  const cut = (): void => ip('-n', HOME.space, 'link', 'set', 'wan', 'down')
  const restore = (): void => ip('-n', HOME.space, 'link', 'set', 'wan', 'up')

  function start(space: string, file: string, env: Readonly<Record<string, string>>): void {
    const node = [process.execPath, '--conditions=development', '--import', MOVED_CLOCK, join(TESTKIT, file)]
    const child = spawn('ip', ['netns', 'exec', space, ...node], {
      env: { ...COMPILE_CACHE, PATH: process.env['PATH'], CHANCERY_MOVED_CLOCK_FILE: clockFile, ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    children.push(child)
  }

  async function gatewayEnv(): Promise<Readonly<Record<string, string>>> {
    const crl = readRevocationList(accepted(await send(naUrl, 'GET', '/crl')))
    const policy = testPolicy(
      {
        'TEST-NET': {
          anchors: { [crl.issuer]: network.authority.publicKey },
          crl: { ...crl },
          minimum_crl_sequence: crl.sequence,
          crl_url: `http://${HOME.link}:${NA_PORT}/crl`,
          allow_http: true,
          refresh_seconds: 10,
          required_roles: ['role:client'],
        },
      },
      [caller],
    )
    const env = {
      GATEWAY_ADDR: `0.0.0.0:${GATEWAY_PORT}`,
      GATEWAY_POLICY_FILE: join(folder, 'policy.json'),
      GATEWAY_STATE_FILE: join(folder, 'gateway.state'),
      GATEWAY_LOG_LEVEL: 'error',
    }
    await writeFile(env.GATEWAY_POLICY_FILE, writeJson(policy), { mode: 0o600 })
    await initializeState(requireValues(readGatewaySettings({ flags: {}, env })), {
      clock: systemClock,
      ids: systemIds,
    })
    return env
  }

  const ask = (method: string, path: string, body?: JsonObject) =>
    sendGatewayRequest(gatewayUrl, method, path, { token: caller.token, ...(body === undefined ? {} : { body }) })
  const verify = async (certificate: JoinCertificate): Promise<{ trusted: boolean; reasons: readonly string[] }> => {
    const { status, body } = await ask('POST', '/verify', { certificate })
    expect(status).toBe(200)
    return body as unknown as { trusted: boolean; reasons: readonly string[] }
  }
  const as = (name: 'privileged' | 'standard') =>
    operatorCaller(naUrl, network.operators[name], network.authority.publicKey, now)
  const enrolled = async (name: string): Promise<JoinCertificate> =>
    enroll(
      { as: (operator) => as(operator as 'standard') },
      nodeCaller(naUrl, await testSigner('node', name), now),
      { roles: ['role:client'], max_validity_hours: 168 },
      { validity_hours: 168 },
    )
  const revoke = async ({ cert_id }: JoinCertificate): Promise<TestResponse> =>
    as('privileged')('POST', '/admin/revoke', { cert_id })

  it('the gateway verifies until next_update, refuses after it, and catches up when the link is back', async () => {
    const kept = await enrolled('kept')
    const first = await enrolled('revoked before')
    const second = await enrolled('revoked during the cut')
    for (const each of [kept, first, second]) expect(await verify(each)).toMatchObject({ trusted: true })

    // Before the cut a revocation arrives within a refresh.
    accepted(await revoke(first))
    await vi.waitFor(async () => expect((await verify(first)).trusted).toBe(false), LIMIT)

    cut()
    accepted(await revoke(second))
    const { next_update } = readRevocationList(accepted(await send(naUrl, 'GET', '/crl')))
    // The gateway cannot know it, and says how old its list is.
    await new Promise((done) => setTimeout(done, 12_000))
    expect(await verify(second)).toMatchObject({ trusted: true })
    expect(await verify(kept)).toMatchObject({ trusted: true })
    expect((await verify(first)).trusted).toBe(false)
    expect((await ask('GET', '/ready')).status).toBe(200)

    // Both regions see the end of the last list that crossed the link; the home region signs the next one.
    movedMs = Number((instantOf(next_update) - systemClock.now()) / 1000n) + 1000
    await writeFile(clockFile, String(movedMs))
    await vi.waitFor(
      async () => expect(await verify(kept)).toMatchObject({ trusted: false, findings: [{ causes: ['crl_stale'] }] }),
      LIMIT,
    )
    expect((await ask('GET', '/ready')).status).toBe(503)

    restore()
    await vi.waitFor(async () => expect(await verify(kept)).toMatchObject({ trusted: true }), LIMIT)
    expect(await verify(second)).toMatchObject({ trusted: false })
    expect(await verify(first)).toMatchObject({ trusted: false })
    expect((await ask('GET', '/ready')).status).toBe(200)
  })
})
