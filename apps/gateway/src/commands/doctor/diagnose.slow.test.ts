import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DAY, HOUR, type Instant, type JsonObject, writeInstant, writeJson } from '@chancery/protocol'
import { type Finding, type SettingsResult, systemClock } from '@chancery/service-kit'
import { TestCa, startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway, TestIssuer } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { diagnose } from './diagnose.ts'

/** A correct gateway. Each test breaks one thing. */
let gateway: TestGateway
let by: TestIssuer
let settings: GatewaySettings
const now = (): Instant => systemClock.now()
const inDays = (days: bigint): string => writeInstant(now() + days * DAY)

async function policy(network: JsonObject = {}, client: JsonObject = {}): Promise<JsonObject> {
  const caller = testClient('caller', ['agency'], { requests_per_minute: 1000, expires_at: inDays(90n), ...client })
  const list = await testList(by, now())
  return testPolicy({ agency: testNetwork(by, list, network) }, [caller])
}

beforeAll(async () => {
  by = await testIssuer('agency')
  gateway = await startTestGateway({ policy: await policy(), state: 'new' })
  // The listener uses a free port.
  settings = { ...gateway.settings, address: { host: '127.0.0.1', port: gateway.gateway.address.port } }
})
afterAll(() => gateway.stop())
beforeEach(async () => rewrite(await policy()))

const rewrite = (text: JsonObject): Promise<void> => writeFile(join(gateway.home, 'policy.json'), writeJson(text))

function examine(changed: Partial<GatewaySettings> = {}, at?: Instant): Promise<readonly Finding[]> {
  const clock = at === undefined ? systemClock : { ...systemClock, now: () => at }
  return diagnose(read({ ...settings, ...changed }), { clock })
}

function read(values: GatewaySettings): SettingsResult<GatewaySettings> {
  return { values, problems: [], notes: [] }
}

function refused(...problems: string[]): SettingsResult<GatewaySettings> {
  return { values: undefined, problems, notes: [] }
}

/** Expects exactly this finding, with a fix. */
function expectOnly(findings: readonly Finding[], check: string, status: 'warn' | 'bad', fix: RegExp): void {
  const wrong = findings.filter((one) => one.status === 'bad' || one.status === 'warn')
  expect(wrong.map((one) => [one.check, one.status, one.found])).toEqual([[check, status, expect.any(String)]])
  expect(wrong[0]?.fix).toMatch(fix)
}

describe('doctor', () => {
  it('reports no problems for a correct gateway, and changes nothing', async () => {
    const before = await readFile(join(gateway.home, 'gateway.state'))
    const findings = await examine()
    expect(findings.filter(({ status }) => status === 'bad' || status === 'warn')).toEqual([])
    const looked = findings.map(({ check }) => check)
    for (const check of [
      'policy',
      'credentials',
      'tls',
      'lists',
      'state',
      'state-lock',
      'state-room',
      'reachable',
      'ready',
    ])
      expect(looked).toContain(check)
    expect(findings.find(({ check }) => check === 'state-lock')?.found).toBe('locked')
    expect(await readFile(join(gateway.home, 'gateway.state'))).toEqual(before)
  })

  describe('reports the problem and the fix', () => {
    it('1: all misspelt settings', async () => {
      const findings = await diagnose(refused('GATEWAY_X: is unknown', 'GATEWAY_Y: too'))
      expect(findings.map(({ check, status }) => [check, status])).toEqual([
        ['settings', 'bad'],
        ['settings', 'bad'],
      ])
    })

    it('2: an unreadable settings file', async () => {
      expectOnly(await diagnose(refused('--env-file: gateway.env cannot be read')), 'settings', 'bad', /--env-file/)
    })

    it('3: development mode', async () => {
      expectOnly(await examine({ development: true }), 'mode', 'bad', /GATEWAY_DEVELOPMENT/)
    })

    it('4: a policy that does not parse', async () => {
      await writeFile(join(gateway.home, 'policy.json'), '{')
      expectOnly(await examine(), 'policy', 'bad', /--check-config/)
    })

    it('5: a credential that has expired, and one that expires within days', async () => {
      await rewrite(await policy({}, { expires_at: inDays(-1n) }))
      expectOnly(await examine(), 'credentials', 'bad', /gateway token new/)
      await rewrite(await policy({}, { expires_at: inDays(3n) }))
      expectOnly(await examine(), 'credentials', 'warn', /gateway token new/)
    })

    it('6: a credential that never expires', async () => {
      const { clients, ...rest } = await policy()
      const [{ expires_at: _end, ...client } = {}] = clients as JsonObject[]
      await rewrite({ ...rest, clients: [client] })
      expectOnly(await examine(), 'policy', 'warn', /Check this member/)
    })

    it('7: a list that expires within hours, and one that has expired', async () => {
      const end = now() + 23n * HOUR
      expectOnly(await examine({}, end - HOUR), 'lists', 'warn', /no crl_url/)
      expectOnly(await examine({}, end + 2n * HOUR), 'lists', 'bad', /no crl_url/)
    })

    it('7b: a list of half the size limit', async () => {
      expectOnly(await examine({ maxListBytes: 500 }), 'list-size', 'warn', /GATEWAY_MAX_LIST_BYTES/)
      const findings = await examine({ maxListBytes: 5000 })
      expect(findings.map(({ check }) => check)).not.toContain('list-size')
    })

    it('8: an address of the policy that does not respond', async () => {
      await rewrite(await policy({ crl_url: 'http://127.0.0.1:1/crl', allow_http: true }))
      expectOnly(await examine(), 'reachable', 'bad', /firewall/)
    })

    it('9: a collector that does not respond; not checked with --offline', async () => {
      const auditUrl = 'https://127.0.0.1:1/events'
      expectOnly(await examine({ auditUrl }), 'reachable', 'bad', /root certificates/)
      const offline = await diagnose(read({ ...settings, auditUrl }), { offline: true })
      expect(offline.find(({ check }) => check === 'reachable')?.status).toBe('skipped')
    })

    it('10: no state, state that is damaged, and state that others may write', async () => {
      const { stateFile: _file, ...without } = settings
      expectOnly(await diagnose(read(without as GatewaySettings)), 'state', 'warn', /--init-state/)
      const damaged = join(gateway.home, 'damaged.state')
      writeFileSync(damaged, 'no state at all'.repeat(300))
      expectOnly(await examine({ stateFile: damaged }), 'state', 'bad', /restore a backup/)
      await chmod(join(gateway.home, 'gateway.state'), 0o666)
      expectOnly(await examine(), 'state', 'bad', /restore a backup/)
      await chmod(join(gateway.home, 'gateway.state'), 0o600)
    })

    it('11: state that is nearly full', async () => {
      const { size } = await stat(join(gateway.home, 'gateway.state'))
      expectOnly(
        await examine({ stateMaxBytes: Math.ceil(size / 0.9) }),
        'state-room',
        'warn',
        /GATEWAY_STATE_MAX_BYTES/,
      )
    })

    it('12: a lock without a gateway, and a gateway without the lock', async () => {
      const elsewhere = await examine({ address: { host: '127.0.0.1', port: 1 } })
      expect(elsewhere.filter(({ status }) => status === 'bad').map(({ check }) => check)).toEqual([
        'state-lock',
        'ready',
      ])
      const copy = join(gateway.home, 'copy.state')
      await writeFile(copy, await readFile(join(gateway.home, 'gateway.state')), { mode: 0o600 })
      expectOnly(await examine({ stateFile: copy }), 'state-lock', 'bad', /other settings/)
    })

    it('12b: a gateway that is not ready, with the checks that fail', async () => {
      const details = { checks: { revocation: true, state: true, quota: false, audit_capacity: false } }
      let body = JSON.stringify({ code: 'unavailable', reason: 'not_ready', details })
      const server = createServer((_request, response) => response.writeHead(503).end(body))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const look = async (): Promise<string | undefined> =>
        (await examine({ address: { host: '127.0.0.1', port } })).find(({ check }) => check === 'ready')?.found
      expect(await look()).toMatch(/responds 503: quota, audit_capacity$/)
      body = 'no JSON'
      expect(await look()).toMatch(/responds 503$/)
      await new Promise((resolve) => server.close(resolve))
    })

    it('12c: more workers than cores, and workers that end repeatedly', async () => {
      let body = JSON.stringify({ status: 'ready', warnings: ['workers_restart'] })
      const server = createServer((_request, response) => response.end(body))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const other = await examine({ address: { host: '127.0.0.1', port } })
      expect(other.find(({ check }) => check === 'ready')).toMatchObject({
        status: 'bad',
        fix: expect.stringMatching(/Another program/) as string,
      })
      body = JSON.stringify({ service: 'chancery-gateway', status: 'ready', warnings: ['workers_restart'] })
      const found = await examine({ address: { host: '127.0.0.1', port }, workers: 64 })
      const workers = found.filter(({ check }) => check === 'workers')
      expect(workers.map(({ status, found: text }) => [status, text])).toEqual([
        ['warn', expect.stringMatching(/^GATEWAY_WORKERS starts 64 workers on a machine with \d+ core/)],
        ['warn', expect.stringMatching(/3 times or more within 10 minutes/)],
      ])
      expect((await examine({})).filter(({ check }) => check === 'workers')).toEqual([])
      await new Promise((resolve) => server.close(resolve))
    })

    it('13: a listener certificate that expires within days, and a key that does not match', async () => {
      const ca = new TestCa()
      const [one, other] = [ca.issue('gateway.example.org'), ca.issue('other.example.org')]
      ca.remove()
      const files = { tlsCertFile: 'tls.crt', tlsKeyFile: 'tls.key', tlsClientCaFile: 'clients.crt' }
      const texts = { 'tls.crt': one.cert, 'tls.key': one.key, 'clients.crt': one.cert }
      for (const [name, text] of Object.entries(texts)) await writeFile(join(gateway.home, name), text, { mode: 0o600 })
      const tls = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(gateway.home, file)]))
      const end = BigInt(new X509Certificate(one.cert).validToDate.getTime()) * 1000n
      const atEnd = async (before: Instant): Promise<unknown> =>
        (await examine(tls, end - before)).find(({ check }) => check === 'tls')?.status
      expect([await atEnd(DAY), await atEnd(-DAY)]).toEqual(['warn', 'bad'])
      await writeFile(join(gateway.home, 'tls.key'), other.key)
      expectOnly(await examine(tls), 'tls', 'bad', /GATEWAY_TLS_KEY_FILE/)
    })
  })
})
