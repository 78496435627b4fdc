import { Client, credentials } from '@grpc/grpc-js'
import { seconds, toUtf8 } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { AUDIENCE, type ProvingNode, provenHeaders } from './checked-gateway.suite.ts'
import { allBytes, field, message, onlyBytes, onlyText, readFields } from './protobuf.ts'

// Holds: a client of ext_authz, by the published field numbers, gets allowed and denied answers, and never an error of
// the call, which an Envoy with `failure_mode_allow` would let pass.

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let gateway: TestGateway
let client: Client
let node: ProvingNode

beforeAll(async () => {
  const by = await testIssuer('agency')
  const signer = await testSigner('node', 'grpc')
  const certificate = await testCertificate(by, clock.now(), { node_public_key: signer.publicKey, cert_id: 'cert-79' })
  node = { signer, certificate }
  const list = await testList(by, clock.now())
  const policy = testPolicy({ agency: testNetwork(by, list) }, [testClient('caller', ['agency'])])
  const check = { audience: AUDIENCE, routes: [{ method: 'POST', path: '/jobs' }] }
  const settings = { GATEWAY_CHECK_GRPC_ADDR: '127.0.0.1:0' }
  gateway = await startTestGateway({ clock, policy: { ...policy, check }, settings })
  const { port } = gateway.gateway.listening['check-grpc'] ?? { port: 0 }
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
})
afterAll(async () => {
  client.close()
  await gateway.stop()
})
beforeEach(() => clock.advance(2))

interface Asked {
  readonly path?: string
  readonly body?: string
  /** What the node signs. */
  readonly signed?: string
  readonly raw?: boolean
  readonly more?: Readonly<Record<string, string>>
  readonly age?: number
}

async function requestOf({
  path = '/jobs',
  body = 'data',
  signed = 'data',
  raw = false,
  more = {},
  age = 0,
}: Asked): Promise<Uint8Array> {
  const now = clock.now() - seconds(age)
  const proof = await provenHeaders(node, { method: 'POST', target: '/jobs', body: signed, now })
  const headers = Object.entries({ ':path': path, ...proof, ...more })
  const listed = headers.map(([name, value]) => field(1, message(field(1, name), field(3, toUtf8(value)))))
  const mapped = headers.map(([name, value]) => field(3, message(field(1, name), field(2, value))))
  const sent = raw ? [field(13, message(...listed)), field(12, toUtf8(body))] : [...mapped, field(11, body)]
  const http = message(field(2, 'POST'), field(4, path), ...sent)
  return field(1, field(4, field(2, http)))
}

async function ask(request: Uint8Array) {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const asIs = (value: Buffer): Buffer => value
    const path = '/envoy.service.auth.v3.Authorization/Check'
    client.makeUnaryRequest(path, asIs, asIs, Buffer.from(request), (error, answer) => {
      if (error === null && answer !== undefined) resolve(answer)
      else reject(error ?? new Error('no answer'))
    })
  })
  const answer = readFields(bytes)
  const [denied, allowed] = [onlyBytes(answer, 2), onlyBytes(answer, 3)]
  const status = readFields(onlyBytes(answer, 1) ?? new Uint8Array())
  const headers = allBytes(readFields(allowed ?? denied ?? new Uint8Array()), 2).map((option) => {
    const header = readFields(onlyBytes(readFields(option), 1) ?? new Uint8Array())
    return [onlyText(header, 1), onlyText(header, 2)] as const
  })
  const names = allBytes(readFields(onlyBytes(answer, 4) ?? new Uint8Array()), 1).map((each) =>
    onlyText(readFields(each), 1),
  )
  const code = status.get(1)?.[0]
  const http = denied && readFields(onlyBytes(readFields(denied), 1) ?? new Uint8Array()).get(1)?.[0]
  return { code, http, isAllowed: allowed !== undefined, headers: Object.fromEntries(headers), names }
}

it.each([false, true])('allows a proven request, with its headers as a list: %s', async (raw) => {
  const answer = await ask(await requestOf({ raw }))
  expect(answer).toMatchObject({ code: 0n, isAllowed: true, headers: { 'chancery-node': 'cert-79' } })
  expect(answer.names).toContain('chancery-node-key')
})

it('denies with the status and the reason of the check', async () => {
  const denied = async (asked: Asked) => {
    const { code, http, isAllowed, headers } = await ask(await requestOf(asked))
    return [code, http, isAllowed, headers['chancery-reason']]
  }
  expect(await denied({ body: 'other' })).toEqual([16n, 401n, false, 'digest_mismatch'])
  expect(await denied({ age: 62 })).toEqual([16n, 401n, false, 'proof_stale'])
  expect(await denied({ path: '/jobs/../x' })).toEqual([16n, 401n, false, 'signature_invalid'])
  expect(await denied({ more: { 'chancery-node': 'x' } })).toEqual([7n, 403n, false, 'header_refused'])
  expect(await denied({ body: '' })).toEqual([7n, 403n, false, 'body_not_seen'])
})

it('passes without a body only when the length of the client says so, not by a header of other dialects', async () => {
  const without = async (more: Asked['more']) => {
    const { headers } = await ask(await requestOf({ body: '', signed: '', ...(more === undefined ? {} : { more }) }))
    return headers['chancery-reason']
  }
  expect(await without({ 'content-length': '0' })).toBeUndefined()
  expect(await without({})).toBe('body_not_seen')
  expect(await without({ 'x-original-length': '0' })).toBe('body_not_seen')
  expect(await without({ 'content-length': '4' })).toBe('body_not_seen')
})

it('denies what is no request, and a request twice', async () => {
  const request = await requestOf({})
  expect((await ask(request)).isAllowed).toBe(true)
  expect((await ask(request)).headers).toMatchObject({ 'chancery-reason': 'proof_replayed' })
  for (const bytes of [new Uint8Array(), toUtf8('\u0001'), request.subarray(0, 40), message(request, request)])
    expect(await ask(bytes)).toMatchObject({ code: 7n, http: 403n, isAllowed: false })
})
