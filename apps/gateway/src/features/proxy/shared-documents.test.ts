import { findOperation } from '@chancery/contract'
import { systemClock } from '@chancery/service-kit'
import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { GatewayResponse, TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startScriptedAuthority } from '../../scripted-authority.suite.ts'
import type { Script, ScriptedAuthority, SeenRequest } from '../../scripted-authority.suite.ts'
import { expectRefusal } from '../../test-gateway.suite.ts'
import type { ClientCall } from '../../edge/call.ts'
import { createMetrics } from '../../metrics.ts'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import type { AdmittedRequest } from './send.ts'
import type { ExchangeParts } from './send.ts'
import { SharedDocuments } from './shared-documents.ts'

const reader = testClient('reader', ['agency'], { service_groups: ['network'], requests_per_minute: 10_000 })
const other = testClient('other', ['agency'], { service_groups: ['network'], requests_per_minute: 1 })

let authority: ScriptedAuthority
let gateway: TestGateway

beforeAll(async () => {
  authority = await startScriptedAuthority()
  const by = await testIssuer('agency')
  const network = { authority_url: authority.url, allow_http: true }
  const list = await testList(by, systemClock.now())
  gateway = await startTestGateway({
    policy: testPolicy({ agency: testNetwork(by, list, network) }, [reader, other]),
  })
})
beforeEach(async () => {
  // A response without an ETag replaces what an earlier test left.
  authority.answer = () => ({})
  await get()
  authority.seen.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await authority.stop()
})

function get(headers: Record<string, string> = {}, token = reader.token): Promise<GatewayResponse> {
  return gateway.request('GET', '/v1/networks/agency/services/crl-get-crl', { token, headers })
}

/** An authority that serves one version with its ETag. */
function serving(version: () => number): (request: SeenRequest) => Script {
  return ({ headers }) => {
    const etag = `"v${version()}"`
    const isKnown = headers['if-none-match'] === etag
    return isKnown
      ? { status: 304, body: '', headers: { etag, 'x-request-id': 'up-304' } }
      : { body: `{ "version" : ${version()}.0 }`, headers: { etag, 'x-request-id': 'up-200' } }
  }
}

it('uses a cached document only when the authority confirms its ETag', async () => {
  let version = 1
  authority.answer = serving(() => version)
  const first = await get()
  const second = await get({ 'if-none-match': '"v1"' })
  version = 2
  const third = await get()
  expect([first, second, third].map(({ status, text }) => [status, text])).toEqual([
    [200, '{ "version" : 1.0 }'],
    [200, '{ "version" : 1.0 }'],
    [200, '{ "version" : 2.0 }'],
  ])
  expect(authority.seen.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"', '"v1"'])
  expect([second.headers['etag'], second.headers['cache-control']]).toEqual([undefined, 'no-store'])
  expect(second.headers['x-upstream-request-id']).toBe('up-304')
})

it('a request gets what the authority serves after it arrived, also while an earlier read is open', async () => {
  authority.answer = serving(() => 1)
  await get()
  authority.answer = () => ({ does: 'silent' })
  const stalled = get()
  await expect.poll(() => authority.seen).toHaveLength(2)
  authority.answer = serving(() => 2)
  expect((await get()).text).toBe('{ "version" : 2.0 }')
  await gateway.gateway.core.authorities.close()
  expectRefusal(await stalled, 502, 'bad_gateway', 'authority_unreachable')
})

it('requests that wait for the authority share the next request to it', async () => {
  const documents = new SharedDocuments()
  const sent: PromiseWithResolvers<UpstreamResponse>[] = []
  const parts = {
    authorities: {
      send: () => {
        const exchange = Promise.withResolvers<UpstreamResponse>()
        sent.push(exchange)
        return exchange.promise
      },
    },
    clock: systemClock,
    metrics: createMetrics('0'),
    reader: { hasForm: () => true },
  } as unknown as ExchangeParts
  const call = {
    requestId: 'a',
    checkDeadline: () => undefined,
    remainingMs: () => 1000,
    setOutcomeUncertain: () => undefined,
  }
  const operation = findOperation('crl-get-crl')
  const admitted = { network: { name: 'agency' }, operation } as unknown as AdmittedRequest
  const read = () => documents.read(admitted, '/crl', { ...call, client: { id: 'a' } } as unknown as ClientCall, parts)
  const answer = (index: number, body: string) =>
    sent[index]?.resolve({ status: 200, headers: {}, body: Buffer.from(body) })
  const first = [read(), read(), read()]
  await expect.poll(() => sent).toHaveLength(1)
  const later = [read(), read()]
  // A stalled read does not delay the next one for long.
  await expect.poll(() => sent).toHaveLength(2)
  answer(1, '"later"')
  answer(0, '"first"')
  const bodies = (await Promise.all([...first, ...later])).map(({ response }) => 'body' in response && response.body)
  expect(bodies).toEqual(['"first"', '"first"', '"first"', '"later"', '"later"'])
  expect(sent).toHaveLength(2)
})

it('each caller has its own quota and its own request id', async () => {
  authority.answer = serving(() => 1)
  const answers = await Promise.all([get(), get(), get({}, other.token), get({}, other.token)])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429])
  expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(4)
})

it('a confirmation with another ETag or none is refused, and the document is dropped', async () => {
  for (const headers of [{ etag: '"v2"' }, {}]) {
    authority.answer = serving(() => 1)
    await get()
    authority.answer = () => ({ status: 304, body: '', headers })
    expectRefusal(await get(), 502, 'bad_gateway', 'authority_invalid_response')
    authority.seen.length = 0
    expectRefusal(await get(), 502, 'bad_gateway', 'authority_redirect')
    expect(authority.seen[0]?.headers['if-none-match']).toBeUndefined()
  }
})

it('a failure is not replaced by the cached document', async () => {
  authority.answer = serving(() => 1)
  await get()
  authority.answer = () => ({ status: 503, headers: { etag: '"v1"' } })
  expectRefusal(await get(), 502, 'bad_gateway', 'authority_error')
  authority.answer = () => ({ does: 'cut' })
  expectRefusal(await get(), 502, 'bad_gateway', 'authority_unreachable')
  authority.answer = serving(() => 1)
  expect((await get()).status).toBe(200)
})

it.each<[string, Script]>([
  ['no JSON', { body: '<html>', headers: { etag: '"v1"' } }],
  ['no-store', { headers: { etag: '"v1"', 'cache-control': 'private, No-Store' } }],
  ['a weak ETag', { headers: { etag: 'W/"v1"' } }],
  ['an ETag with a quote', { headers: { etag: '"v"1"' } }],
  ['no ETag', {}],
  ['Vary', { headers: { etag: '"v1"', vary: 'accept, x-request-id' } }],
  ['Vary: *', { headers: { etag: '"v1"', vary: '*' } }],
  ['a coding', { headers: { etag: '"v1"', 'content-encoding': 'identity' } }],
  ['another status', { status: 404, headers: { etag: '"v1"' } }],
])('does not cache a response with %s', async (_name, script) => {
  authority.answer = () => script
  await get()
  await get()
  expect(authority.seen.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined])
})

it('caches a response that varies by headers that the gateway always sends alike', async () => {
  authority.answer = () => ({
    headers: { etag: '"v1"', vary: 'Accept-Encoding', 'cache-control': 'public, max-age=30' },
  })
  await get()
  await get()
  expect(authority.seen.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"'])
})
