import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TestCa } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfiguration } from '../policy/load-configuration.ts'
import { startTestSetup } from '../test-gateway.suite.ts'
import { checkOnline } from './check-online.ts'

const ca = new TestCa()
let server: Server
let batches = 0
beforeAll(async () => {
  const leaf = ca.issue('collector')
  server = createServer({ cert: leaf.cert, key: leaf.key }, (request, response) => {
    request.resume().on('end', () => {
      batches += 1
      response.writeHead(200).end('{"acknowledged_ids":[]}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  ca.remove()
})

/** Result of the check for the collector, and whether a running gateway delivers to it. */
async function tryCollector(host: string, more: Record<string, string>) {
  batches = 0
  const { port } = server.address() as AddressInfo
  const { gateway } = await startTestSetup({
    state: 'new',
    files: { 'roots.pem': ca.cert },
    settings: { GATEWAY_AUDIT_URL: `https://${host}:${port}/audit`, GATEWAY_CA_FILE: '{home}/roots.pem', ...more },
  })
  try {
    const { configuration } = loadConfiguration(gateway.settings, systemClock.now())
    if (configuration === undefined) throw new Error('no configuration')
    const problems = await checkOnline(configuration, gateway.settings)
    for (let tries = 0; tries < 130 && batches === 0; tries += 1) await new Promise((done) => setTimeout(done, 50))
    return { problems, isDelivered: batches > 0 }
  } finally {
    await gateway.stop()
  }
}

it('a collector whose name resolves to a private address is refused by the check and by a delivery', async () => {
  const { problems, isDelivered } = await tryCollector('localhost', {})
  expect([problems.map(({ setting }) => setting), isDelivered]).toEqual([['GATEWAY_AUDIT_URL'], false])
  expect(problems[0]?.message).toContain('GATEWAY_AUDIT_ALLOW_PRIVATE')
})

it('GATEWAY_AUDIT_ALLOW_PRIVATE allows both', async () => {
  expect(await tryCollector('localhost', { GATEWAY_AUDIT_ALLOW_PRIVATE: 'true' })).toEqual({
    problems: [],
    isDelivered: true,
  })
})

it('a literal address needs no setting', async () => {
  expect(await tryCollector('127.0.0.1', {})).toEqual({ problems: [], isDelivered: true })
})
