import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { canonicalJson, sha256Hex } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { TestCa } from '@chancery/testkit'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { certificateBytes } from '@chancery/protocol'
import { type TestGatewaySetup, expectRefusal, startTestSetup } from '../test-gateway.suite.ts'

type Delivered = {
  readonly id: string
  readonly event: JsonObject & { readonly sequence: number; readonly hash: string }
}

const ca = new TestCa()
const leaf = ca.issue('collector')
let server: Server
let batches: Delivered[][]
const credentials = new Set<string | undefined>()
let acknowledge: (batch: readonly Delivered[]) => readonly string[]
let setup: TestGatewaySetup
afterAll(() => ca.remove())

beforeEach(async () => {
  batches = []
  acknowledge = (batch) => batch.map(({ id }) => id)
  server = createServer({ cert: leaf.cert, key: leaf.key }, (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      credentials.add(request.headers.authorization)
      const { events } = JSON.parse(text) as { events: Delivered[] }
      batches.push(events)
      response.writeHead(200).end(JSON.stringify({ acknowledged_ids: acknowledge(events) }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  setup = await startTestSetup({
    state: 'new',
    files: { 'roots.pem': ca.cert, 'collector.token': 'collector-secret\n' },
    settings: {
      GATEWAY_AUDIT_URL: `https://127.0.0.1:${(server.address() as AddressInfo).port}/audit`,
      GATEWAY_AUDIT_TOKEN_FILE: '{home}/collector.token',
      GATEWAY_CA_FILE: '{home}/roots.pem',
    },
  })
})
afterEach(async () => {
  await setup.gateway.stop()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

async function delivered(id: string): Promise<JsonObject> {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = batches.flat().find((each) => each.id === id)
    if (found !== undefined) return found.event
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`${id} was not delivered`)
}

describe('durable audit', () => {
  it('stores intent and completion, names the certificate by digest only, and chains every event', async () => {
    const certificate = await setup.certificate()
    const response = await setup.gateway.request('POST', '/verify', {
      token: setup.caller.token,
      body: { certificate },
      headers: { 'x-request-id': 'mine-1' },
    })
    const id = String(response.headers['x-request-id'])
    expect(await delivered(`${id}:started`)).toMatchObject({
      request_id: id,
      phase: 'started',
      method: 'POST',
      route: '/verify',
    })
    expect(await delivered(`${id}:completed`)).toMatchObject({
      phase: 'completed',
      status: 200,
      context: {
        client_id: 'caller',
        auth_method: 'bearer',
        client_request_id: 'mine-1',
        network: 'agency',
        policy_revision: 'test-1',
        trust_decision: { trusted: true, reasons: [] },
        certificate_digests: [sha256Hex(certificateBytes(certificate))],
        crl: { issuer: 'na-main', sequence: 9 },
      },
    })
    expect(credentials).toEqual(new Set(['Bearer collector-secret']))
    const events = batches.flat().map(({ event }) => event)
    let previous: string | null = null
    for (const [index, { hash, ...event }] of events.entries()) {
      expect([event.sequence, event['prev_hash']]).toEqual([index + 1, previous])
      expect(sha256Hex(canonicalJson(event as JsonObject))).toBe(hash)
      previous = hash
    }
    expect(events.map(({ event }) => event).filter((name) => name !== undefined)).toEqual([
      'crl_installed',
      'state_opened',
    ])
    const text = JSON.stringify(batches)
    for (const secret of [setup.caller.token, certificate.cert_id, certificate.node_public_key])
      expect(text).not.toContain(secret)
  })

  it('a refusal after authentication is completed with its status', async () => {
    const response = await setup.gateway.request('POST', '/verify', { token: setup.caller.token, rawBody: '{' })
    expect((await delivered(`${String(response.headers['x-request-id'])}:completed`))['status']).toBe(400)
  })

  it('only acknowledged events leave the queue; the others are sent again with the same ids', async () => {
    acknowledge = () => ['somebody-else:started']
    const response = await setup.verify(await setup.certificate())
    const id = `${String(response.headers['x-request-id'])}:completed`
    await delivered(id)
    const first = batches
      .flat()
      .filter((each) => each.id === id)
      .map(({ event }) => event)
    acknowledge = (batch) => batch.map((each) => each.id)
    while (batches.flat().filter((each) => each.id === id).length === first.length)
      await new Promise((done) => setTimeout(done, 50))
    const again = batches.flat().filter((each) => each.id === id)
    expect(new Set(again.map(({ event }) => JSON.stringify(event))).size).toBe(1)
    const { state } = setup.gateway.gateway.core
    while (((await state?.measure())?.pending ?? 0) > 0) await new Promise((done) => setTimeout(done, 50))
  })

  it('public pages write no events, and bad credentials a limited number', async () => {
    for (let n = 0; n < 30; n += 1) {
      await setup.gateway.request('GET', '/api')
      await setup.gateway.request('GET', '/no-such-path')
      await setup.gateway.request('GET', '/v1/networks', { token: 'b'.repeat(40) })
    }
    const response = await setup.verify(await setup.certificate())
    await delivered(`${String(response.headers['x-request-id'])}:completed`)
    const ids = batches.flat().map(({ id }) => id)
    // Twenty pairs of one address (protocol/gateway 16.2), and this request's own.
    expect(ids.filter((id) => id.endsWith(':started'))).toHaveLength(20 + 1)
    expect(ids).toContain(`${String(response.headers['x-request-id'])}:started`)
  })
})

it('when the state cannot be written, the outcome is reported as uncertain and new requests are refused', async () => {
  const { core } = setup.gateway.gateway
  const { state } = core
  if (state === undefined) throw new Error('no state')
  const certificate = await setup.certificate()
  // Ends the writer thread, as after a disk fault. Nothing else is replaced.
  await state.close()
  const response = await setup.verify(certificate)
  // The delivery may have failed first. Then the credential is not even checked.
  expect(response.status).toBe(503)
  expect(['audit_unavailable', 'state_unavailable']).toContain(response.body['reason'] as string)
  expectRefusal(await setup.verify(certificate), 503, 'unavailable', 'state_unavailable')
  expectRefusal(await setup.gateway.request('GET', '/ready'), 503, 'unavailable', 'not_ready')
  expect((await setup.gateway.request('GET', '/health')).status).toBe(200)
})
