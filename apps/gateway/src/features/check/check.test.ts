import { type JoinCertificate, type JsonObject, contentDigest, seconds, toUtf8 } from '@chancery/protocol'
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
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents } from '../../test-gateway.suite.ts'
import { type CheckAnswer, type ProvingNode, askCheck, checkUrl, provenHeaders } from './checked-gateway.suite.ts'

/**
 * Holds: only a request with a fresh proof of a trusted node on a route of the policy passes, each proof once, in every
 * dialect; every other answer is 401, 403 or 503 with its reason.
 */
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const ROUTES = [
  { method: 'GET', path: '/jobs/{job}' },
  { method: 'POST', path: '/jobs' },
  { method: 'POST', path: '/uploads', body: 'upstream' },
]

let node: ProvingNode
let other: JoinCertificate
let policyWith: (revoked: readonly string[], check?: JsonObject) => Promise<JsonObject>
let original: TestGateway
let envoy: TestGateway

beforeAll(async () => {
  const by = await testIssuer('réseau')
  const signer = await testSigner('node', 'proving')
  const facts = { node_public_key: signer.publicKey, roles: ['role:client', 'a,b'] }
  node = { signer, certificate: await testCertificate(by, clock.now(), { ...facts, cert_id: 'cert-79' }) }
  other = await testCertificate(by, clock.now(), { ...facts, cert_id: 'cert-80' })
  const caller = testClient('caller', ['réseau'])
  let sequence = 9
  policyWith = async (revoked, check = {}) => {
    sequence += 1
    const entries = revoked.map((certificate_id) => ({ certificate_id }))
    const list = await testList(by, clock.now(), { entries, sequence })
    const policy = testPolicy({ réseau: testNetwork(by, list) }, [caller])
    return { ...policy, check: { audience: 'https://print.example', routes: ROUTES, ...check } }
  }
  const start = async (dialect: string): Promise<TestGateway> =>
    startTestGateway({
      clock,
      state: 'new',
      policy: await policyWith([]),
      settings: { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: dialect },
    })
  original = await start('original')
  envoy = await start('envoy')
})
afterAll(async () => {
  await original.stop()
  await envoy.stop()
})
beforeEach(() => clock.advance(2))

interface Case {
  readonly method?: string
  readonly target?: string
  readonly signed?: string
  readonly body?: string
  readonly audience?: string
  readonly by?: ProvingNode
  readonly age?: number
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** As nginx sends it. */
async function ask(given: Case = {}): Promise<CheckAnswer> {
  const { method = 'GET', target = '/jobs/7', signed = target, by = node, age = 0, headers = {}, ...rest } = given
  const proof = await provenHeaders(by, { method, target: signed, now: clock.now() - seconds(age), ...rest })
  const asked = { 'x-original-method': method, 'x-original-uri': target }
  return askCheck(checkUrl(original), { path: '/check', headers: { ...proof, ...asked, ...headers } })
}

async function outcome(given: Case): Promise<readonly unknown[]> {
  const { status, reason } = await ask(given)
  return [status, reason]
}

describe('200', () => {
  it('names the node for the service, in visible ASCII', async () => {
    const { status, headers, body } = await ask()
    expect([status, body]).toEqual([200, {}])
    const result = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('chancery-')))
    expect(result).toEqual({
      'chancery-node': 'cert-79',
      'chancery-network': 'r%C3%A9seau',
      'chancery-roles': 'role:client,a%2Cb',
      'chancery-node-key': node.signer.publicKey,
      'chancery-body-digest': contentDigest(toUtf8('')),
      'chancery-decision': '',
    })
  })

  it('passes without a body when the proxy knows of none', async () => {
    for (const length of ['', '0'])
      expect(await outcome({ headers: { 'x-original-length': length } })).toEqual([200, undefined])
  })

  it('passes another method without a body only when the proxy says that there is none', async () => {
    const post = { method: 'POST', target: '/jobs' }
    expect(await outcome({ ...post, headers: { 'x-original-length': '0' } })).toEqual([200, undefined])
    // A body of HTTP/2 needs no length, so a proxy without one knows nothing.
    for (const length of [undefined, '', ['0', '']])
      expect(await outcome({ ...post, headers: { 'x-original-length': length } })).toEqual([403, 'body_not_seen'])
  })

  it('takes no report of a client where the proxy sends bodies itself, unless the policy says that it always does', async () => {
    const post = async () => {
      const headers = await provenHeaders(node, { method: 'POST', target: '/jobs', now: clock.now() })
      const given = { method: 'POST', path: '/check/jobs', headers: { ...headers, 'x-original-length': '0' } }
      const { status, reason } = await askCheck(checkUrl(envoy), given)
      return [status, reason]
    }
    expect(await post()).toEqual([403, 'body_not_seen'])
    await envoy.reload(await policyWith([], { proxy_reports_body: true }))
    expect(await post()).toEqual([200, undefined])
    await envoy.reload(await policyWith([]))
  })

  it('leaves the body to the service where the route says so', async () => {
    const { status, headers } = await ask({ method: 'POST', target: '/uploads', body: 'data' })
    expect([status, headers['chancery-body-digest']]).toEqual([200, contentDigest(toUtf8('data'))])
  })

  it('takes path and query below the prefix, as Envoy sends them, with the body', async () => {
    const send = async (target: string, path: string, body: string | undefined, more: Record<string, string> = {}) => {
      const headers = await provenHeaders(node, { method: 'POST', target, body: 'data', now: clock.now() })
      const given = { method: 'POST', path, headers: { ...headers, ...more }, ...(body === undefined ? {} : { body }) }
      const { status, reason } = await askCheck(checkUrl(envoy), given)
      return [status, reason]
    }
    expect(await send('/jobs?a=%2F..', '/check/jobs?a=%2F..', 'data')).toEqual([200, undefined])
    expect(await send('/jobs', '/check/jobs', 'other')).toEqual([401, 'digest_mismatch'])
    expect(await send('/jobs', '/check/jobs', undefined)).toEqual([403, 'body_not_seen'])
    expect(await send('/jobs', '/check/jobs', 'da', { 'x-envoy-auth-partial-body': 'true' })).toEqual([
      403,
      'body_not_seen',
    ])
    expect(await send('/jobs', '/check/jobs/7', 'data')).toEqual([401, 'signature_invalid'])
    expect(await send('/jobs', '/checkjobs', 'data')).toEqual([403, 'check_headers'])
    // A client of an Envoy may add these; they mean nothing there.
    const forged = { 'x-original-uri': '/jobs', 'x-forwarded-uri': '/jobs', 'x-forwarded-method': 'POST' }
    expect(await send('/jobs', '/check/nothing', 'data', forged)).toEqual([401, 'signature_invalid'])
  })
})

describe('401', () => {
  it.each<[string, Case]>([
    ['wrong_audience', { audience: 'https://other.example' }],
    ['proof_stale', { age: 62 }],
    ['proof_stale', { age: -32 }],
    ['signature_invalid', { signed: '/jobs/8' }],
    ['signature_invalid', { headers: { 'x-original-method': 'PUT' } }],
    ['proof_malformed', { headers: { signature: undefined } }],
    ['proof_malformed', { headers: { 'chancery-audience': ['https://print.example', 'https://print.example'] } }],
    ['certificate_malformed', { headers: { 'chancery-certificate': ':e30=:' } }],
  ])('%s', async (reason, given) => {
    const answer = await ask(given)
    expect([answer.status, answer.reason]).toEqual([401, reason])
    expect(answer.headers['www-authenticate']).toBe(`Chancery reason="${reason}"`)
    expect(answer.body).toMatchObject({ error: { code: 'node_proof_required', details: { reason } } })
  })

  it('needs a proof, and takes each only once', async () => {
    const asked = { 'x-original-method': 'GET', 'x-original-uri': '/jobs/7' }
    expect(await askCheck(checkUrl(original), { path: '/check', headers: asked })).toMatchObject({
      status: 401,
      reason: 'proof_missing',
    })
    const proof = await provenHeaders(node, { target: '/jobs/7', now: clock.now() })
    const again = () => askCheck(checkUrl(original), { path: '/check', headers: { ...proof, ...asked } })
    expect(await again()).toMatchObject({ status: 200 })
    expect(await again()).toMatchObject({ status: 401, reason: 'proof_replayed' })
  })
})

describe('403', () => {
  it.each<[string, Case]>([
    ['route_denied', { target: '/other' }],
    ['route_denied', { method: 'HEAD' }],
    ['path_ambiguous', { target: '/jobs/%2e%2e/x' }],
    ['body_not_seen', { method: 'POST', target: '/jobs', body: 'data' }],
    ['body_not_seen', { headers: { 'x-original-length': '4' } }],
    ['body_not_seen', { headers: { 'x-original-length': 'chunked' } }],
    ['body_not_seen', { headers: { 'x-original-length': ['', '4'] } }],
    ['check_headers', { headers: { 'x-original-uri': ['/jobs/7', '/jobs/7'] } }],
    ['check_headers', { headers: { 'x-original-method': undefined } }],
    ['check_headers', { headers: { 'x-original-uri': 'http://print.example/jobs/7' } }],
    ['check_headers', { headers: { 'x-original-uri': '/jobs/7#a' } }],
    ['check_headers', { headers: { 'x-original-method': 'get' } }],
    ['header_refused', { headers: { 'chancery-node': 'cert-1' } }],
    ['header_refused', { headers: { chancery_node: 'cert-1' } }],
    ['header_refused', { headers: { 'chancery.node': 'cert-1' } }],
    ['header_refused', { headers: { 'Chancery-Roles': 'role:admin' } }],
    ['header_refused', { headers: { 'x-http-method-override': 'DELETE' } }],
    ['header_refused', { headers: { 'x-rewrite-url': '/admin' } }],
  ])('%s', async (reason, given) => {
    const answer = await ask(given)
    expect([answer.status, answer.reason]).toEqual([403, reason])
    expect(answer.body).toMatchObject({ error: { code: reason, details: { reason } } })
  })

  it('refuses a certificate from the next request on after its revocation, and another network', async () => {
    const revoked = { ...node, certificate: other }
    expect(await outcome({ by: revoked })).toEqual([200, undefined])
    await original.reload(await policyWith([other.cert_id]))
    expect(await outcome({ by: revoked })).toEqual([403, 'certificate_untrusted'])
    await original.reload(await policyWith([], { networks: [] }))
    expect(await outcome({})).toEqual([403, 'certificate_untrusted'])
    await original.reload(await policyWith([]))
    expect(await outcome({ by: revoked })).toEqual([403, 'certificate_untrusted'])
    expect(await outcome({})).toEqual([200, undefined])
  })
})

describe('a certificate that was read before', () => {
  it('is refused from the next request on when the policy has another issuer', async () => {
    const policy = await policyWith([])
    const settings = { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: 'envoy' }
    const gateway = await startTestGateway({ clock, policy, settings })
    const askOnce = async (): Promise<readonly unknown[]> => {
      clock.advance(2)
      const headers = await provenHeaders(node, { target: '/jobs/7', now: clock.now() })
      const { status, reason } = await askCheck(checkUrl(gateway), { path: '/check/jobs/7', headers })
      return [status, reason]
    }
    try {
      expect(await askOnce()).toEqual([200, undefined])
      expect(await askOnce()).toEqual([200, undefined])
      const by = await testIssuer('réseau', 'na-next')
      const successor = testNetwork(by, await testList(by, clock.now()))
      await gateway.reload({ ...policy, networks: { réseau: successor } })
      expect(await askOnce()).toEqual([403, 'certificate_untrusted'])
    } finally {
      await gateway.stop()
    }
  })
})

describe('unavailable', () => {
  it('is 403 for nginx and 503 for Envoy, also above the quota of a node', async () => {
    for (const gateway of [original, envoy]) await gateway.reload(await policyWith([], { requests_per_minute: 1 }))
    clock.advance(60)
    expect(await outcome({})).toEqual([200, undefined])
    expect(await outcome({})).toEqual([403, 'unavailable'])
    const answers: CheckAnswer[] = []
    for (let index = 0; index < 2; index += 1) {
      const headers = await provenHeaders(node, { target: '/jobs/7', now: clock.now() })
      answers.push(await askCheck(checkUrl(envoy), { path: '/check/jobs/7', headers }))
    }
    expect(answers.map(({ status, reason }) => [status, reason])).toEqual([
      [200, undefined],
      [503, 'node_quota'],
    ])
    expect(Number(answers[1]?.headers['retry-after'])).toBeGreaterThan(0)
    for (const gateway of [original, envoy]) await gateway.reload(await policyWith([]))
    clock.advance(60)
  })
})

describe('audit', () => {
  it('has both events of a check in one commit before the answer, and no name of the caller in a refusal', async () => {
    const before = (await auditEvents(original)).length
    const { headers } = await ask({ target: '/jobs/9' })
    const events = (await auditEvents(original)).slice(before)
    const id = headers['x-request-id']
    expect(events.map(({ request_id, phase }) => [request_id, phase])).toEqual([
      [id, 'started'],
      [id, 'completed'],
    ])
    expect(events[1]?.['context']).toMatchObject({
      dialect: 'original',
      check_route: 'GET /jobs/{job}',
      network: 'réseau',
      trust_decision: { trusted: true },
    })
    await ask({ target: '/secret-path', headers: { signature: undefined } })
    const refused = (await auditEvents(original)).slice(before + 2)
    expect(refused.at(-1)?.['context']).toMatchObject({ outcome: 'refused', reason: 'proof_malformed' })
    expect(JSON.stringify(refused)).not.toContain('secret-path')
  })
})
