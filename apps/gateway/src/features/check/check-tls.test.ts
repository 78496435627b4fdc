import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  TestCa,
  sendGatewayRequest,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { TestGateway, TestLeaf } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AUDIENCE, type ProvingNode, provenHeaders } from './checked-gateway.suite.ts'

/**
 * Holds: on an address that is not loopback the check answers only a proxy whose client certificate the policy names, and
 * a proxy that is not named spends no proof.
 */
const clock = new ManualClock()
const SETTINGS = {
  GATEWAY_TLS_CERT_FILE: '{home}/cert.pem',
  GATEWAY_TLS_KEY_FILE: '{home}/key.pem',
  GATEWAY_TLS_CLIENT_CA_FILE: '{home}/ca.pem',
  GATEWAY_CHECK_ADDR: '0.0.0.0:0',
  GATEWAY_CHECK_DIALECT: 'original',
}

/** TLS ends the connection, with or without an alert. */
const NO_CONNECTION = /alert|socket hang up|ECONNRESET|EPIPE|disconnected/

const ca = new TestCa()
const other = new TestCa('another authority')
let proxy: TestLeaf
let unnamed: TestLeaf
let node: ProvingNode
let gateway: TestGateway
let policyOf: (proxies: readonly TestLeaf[]) => Promise<JsonObject>

beforeAll(async () => {
  const server = ca.issue('gateway')
  proxy = ca.issue('proxy')
  unnamed = ca.issue('service')
  const by = await testIssuer('agency')
  const signer = await testSigner('node', 'over-tls')
  node = { signer, certificate: await testCertificate(by, clock.now(), { node_public_key: signer.publicKey }) }
  const caller = testClient('caller', ['agency'])
  policyOf = async (proxies) => {
    const policy = testPolicy({ agency: testNetwork(by, await testList(by, clock.now())) }, [caller])
    const proxy_cert_sha256 = proxies.map(({ sha256 }) => sha256)
    return { ...policy, check: { audience: AUDIENCE, proxy_cert_sha256, routes: [{ method: 'GET', path: '/jobs' }] } }
  }
  gateway = await startTestGateway({
    clock,
    policy: await policyOf([proxy]),
    files: { 'cert.pem': server.cert, 'key.pem': server.key, 'ca.pem': ca.cert },
    settings: SETTINGS,
  })
})
afterAll(async () => {
  await gateway.stop()
  ca.remove()
  other.remove()
})
beforeEach(() => clock.advance(2))

const portOf = (): number => gateway.gateway.listening.check?.port ?? 0

async function ask(by: TestLeaf | undefined, given?: Record<string, string>) {
  const proof = given ?? (await provenHeaders(node, { target: '/jobs', now: clock.now() }))
  const headers = { ...proof, 'x-original-method': 'GET', 'x-original-uri': '/jobs' }
  const tls = { ca: ca.cert, ...(by === undefined ? {} : { cert: by.cert, key: by.key }) }
  const answer = await sendGatewayRequest(`https://127.0.0.1:${portOf()}`, 'GET', '/check', { headers, tls })
  return [answer.status, answer.headers['chancery-reason'] ?? answer.headers['chancery-node']]
}

describe('check over TLS', () => {
  it('answers a proxy that the policy names', async () => {
    expect(await ask(proxy)).toEqual([200, node.certificate.cert_id])
  })

  it('refuses another certificate of the same authority with proxy_unknown, and spends no proof', async () => {
    const proof = await provenHeaders(node, { target: '/jobs', now: clock.now() })
    expect(await ask(unnamed, proof)).toEqual([403, 'proxy_unknown'])
    expect(await ask(unnamed, {})).toEqual([403, 'proxy_unknown'])
    expect(await ask(proxy, proof)).toEqual([200, node.certificate.cert_id])
  })

  it('has no connection for a caller without a certificate, or with one of another authority, or without TLS', async () => {
    await expect(ask(undefined)).rejects.toThrow(NO_CONNECTION)
    await expect(ask(other.issue('proxy'))).rejects.toThrow(NO_CONNECTION)
    await expect(sendGatewayRequest(`http://127.0.0.1:${portOf()}`, 'GET', '/check', {})).rejects.toThrow(NO_CONNECTION)
  })

  it('uses the proxies of a new policy from the next request on', async () => {
    await gateway.reload(await policyOf([unnamed]))
    expect(await ask(proxy)).toEqual([403, 'proxy_unknown'])
    expect(await ask(unnamed)).toEqual([200, node.certificate.cert_id])
    // A policy without a proxy is refused on this address, and the policy in use stays.
    await gateway.reload(await policyOf([]))
    expect(await ask(proxy)).toEqual([403, 'proxy_unknown'])
    expect(await ask(unnamed)).toEqual([200, node.certificate.cert_id])
    await gateway.reload(await policyOf([proxy]))
    expect(await ask(unnamed)).toEqual([403, 'proxy_unknown'])
  })

  it('uses new TLS files after a reload', async () => {
    await writeFile(join(gateway.home, 'ca.pem'), other.cert)
    const replaced = other.issue('proxy')
    await gateway.reload(await policyOf([proxy, replaced]))
    await expect(ask(proxy)).rejects.toThrow(NO_CONNECTION)
    expect(await ask(replaced)).toEqual([200, node.certificate.cert_id])
  })
})
