// oxlint-disable max-lines -- every status of one route, with one partner service
import { createHash } from 'node:crypto'
import { GATEWAY_OPERATIONS } from '@chancery/contract'
import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { GatewayResponse, GatewayRequest, TestGateway } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Script, type ScriptedAuthority, startScriptedAuthority } from '../../scripted-authority.suite.ts'
import { expectRefusal } from '../../test-gateway.suite.ts'

const GROUPS = [...new Set(GATEWAY_OPERATIONS.map(({ group }) => group))]
const full = testClient('full', ['agency', 'away', 'dead'], { service_groups: GROUPS, authority_admin: true })
const reader = testClient('reader', ['agency'], { service_groups: ['network', 'administration'] })
const narrow = testClient('narrow', ['agency'], { service_groups: ['network'], operations: ['crl-get-crl'] })
const DEMO_TOKEN = 'a-token-everybody-may-know-and-use'
/** A demonstration client: its token is public in the policy. */
const demo = testClient('demo', ['agency'], {
  token_sha256: createHash('sha256').update(DEMO_TOKEN).digest('hex'),
  requests_per_minute: 120,
  service_groups: ['network', 'agreement'],
  demo: true,
  demo_token: DEMO_TOKEN,
})
const SIGNED = {
  'X-Admin-Key-Id': 'op-1',
  'X-Admin-Timestamp': '2026-03-02T10:00:00Z',
  'X-Admin-Nonce': '5b0c0f0e-1c1d-4e2f-8a3b-000000000002',
  'X-Admin-Signature': 'not-judged-here',
}

let authority: ScriptedAuthority
let gateway: TestGateway

beforeAll(async () => {
  authority = await startScriptedAuthority()
  const now = systemClock.now()
  const network = async (name: string, more: object) => {
    const by = await testIssuer(name)
    return testNetwork(by, await testList(by, now), { ...more })
  }
  const reached = { authority_url: authority.url, allow_http: true }
  gateway = await startTestGateway({
    settings: { GATEWAY_TIMEOUT_MS: '4000' },
    policy: testPolicy(
      {
        agency: await network('agency', reached),
        away: await network('away', {}),
        dead: await network('dead', { authority_url: 'http://127.0.0.1:1', allow_http: true }),
        hidden: await network('hidden', reached),
      },
      [full, reader, narrow, demo],
    ),
  })
})
beforeEach(() => {
  authority.seen.length = 0
  authority.answer = () => ({})
})
afterAll(async () => {
  await gateway.stop()
  await authority.stop()
})

interface Ask extends GatewayRequest {
  readonly query?: string
  readonly network?: string
  readonly method?: string
}

function ask(operation: string, { query = '', network = 'agency', method, ...options }: Ask = {}) {
  const usual = GATEWAY_OPERATIONS.find(({ id }) => id === operation)?.method ?? 'GET'
  const target = `/v1/networks/${network}/services/${operation}${query}`
  return gateway.request(method ?? usual, target, { token: full.token, ...options })
}

async function answering(script: Script, operation = 'crl-get-crl', options: Ask = {}): Promise<GatewayResponse> {
  authority.answer = () => script
  return ask(operation, options)
}

/** Expects a refusal, and no request at the authority. */
async function expectUnsent(answer: Promise<GatewayResponse>, status: number, code: string, reason: string) {
  expectRefusal(await answer, status, code, reason)
  expect(authority.seen).toEqual([])
}

describe('200', () => {
  it('sends the operation with the gateway’s own id and no headers of the caller', async () => {
    const headers = {
      cookie: 'a=b',
      'x-forwarded-for': '1.2.3.4',
      'user-agent': 'x',
      'x-request-id': 'mine',
      ...SIGNED,
    }
    const answer = await ask('crl-get-crl', { headers })
    const [request] = authority.seen
    expect([request?.method, request?.target, request?.body]).toEqual(['GET', '/crl', ''])
    expect(request?.headers).toEqual({
      host: authority.url.slice('http://'.length),
      connection: 'keep-alive',
      accept: 'application/json',
      'x-request-id': answer.headers['x-request-id'],
    })
  })

  it('forwards body and operator headers unchanged', async () => {
    const rawBody = '{ "n":1.0, "big":9007199254740993,\n"é":"\\u00e9" }'
    await ask('admin-create-invite', { rawBody, headers: SIGNED })
    const [request] = authority.seen
    expect(request?.body).toBe(rawBody)
    for (const [name, value] of Object.entries(SIGNED)) expect(request?.headers[name.toLowerCase()]).toBe(value)
    expect(request?.headers['content-type']).toBe('application/json')
  })

  it('forwards responses byte for byte, including refusals of the authority', async () => {
    const body = '{ "n" : 1.0, "big": 9007199254740993, "é":"\\u00e9" }'
    for (const status of [200, 201, 400, 401, 403, 404, 409, 422, 429]) {
      const answer = await answering({
        status,
        body,
        headers: { 'x-request-id': 'up-1', 'retry-after': '17', etag: '"x"' },
      })
      expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([status, body, 'application/json'])
      expect([answer.headers['x-upstream-request-id'], answer.headers['retry-after']]).toEqual(['up-1', '17'])
      expect(answer.headers['etag']).toBeUndefined()
    }
  })

  it('forwards only a valid Retry-After and a valid id', async () => {
    for (const [retryAfter, id] of [
      ['86401', 'has space'],
      ['-1', 'r'.repeat(129)],
      ['soon', ''],
    ]) {
      const headers = { 'retry-after': retryAfter ?? '', 'x-request-id': id ?? '' }
      const answer = await answering({ headers })
      expect([answer.headers['retry-after'], answer.headers['x-upstream-request-id']]).toEqual([undefined, undefined])
    }
  })

  it('forwards JSON lines, and an error as JSON', async () => {
    const lines = '{"a":1.0}\n\n{"b":[1,2]}\n'
    const good = await answering({ body: lines }, 'evidence_store-export', { headers: SIGNED })
    expect([good.text, good.headers['content-type']]).toEqual([lines, 'application/x-ndjson'])
    expect(authority.seen[0]?.headers['accept']).toBe('application/x-ndjson')
    const refused = await answering({ status: 404, body: '{"error":{}}' }, 'evidence_store-export', { headers: SIGNED })
    expect([refused.status, refused.headers['content-type']]).toEqual([404, 'application/json'])
  })

  it('accepts JSON lines beyond the size limit of other responses', async () => {
    const row = `{"x":"${'y'.repeat(1000)}"}\n`
    const large = await answering({ body: row.repeat(4000) }, 'evidence_store-export', { headers: SIGNED })
    expect([large.status, large.text.length]).toEqual([200, row.length * 4000])
  })

  it('audits the operation, the key id and the status of the authority', async () => {
    const records: unknown[] = []
    const { audit } = gateway.gateway.core
    const complete = audit.complete.bind(audit)
    audit.complete = async (request, status) => {
      records.push({ ...request.context })
      await complete(request, status)
    }
    try {
      await answering({ headers: { 'x-request-id': 'up-7' } }, 'admin-policy-history', { headers: SIGNED })
      await ask('crl-get-crl', { network: 'no-such' })
    } finally {
      audit.complete = complete
    }
    expect(records).toMatchObject([
      {
        client_id: 'full',
        network: 'agency',
        operation: 'admin-policy-history',
        admin_key_id: 'op-1',
        upstream_status: 200,
        upstream_request_id: 'up-7',
      },
      { client_id: 'full' },
    ])
    // An invented name of the caller is not repeated anywhere.
    expect(JSON.stringify(records)).not.toContain('no-such')
  })
})

describe('400', () => {
  it.each([
    ['crl-get-crl', '?x=1', 'query_not_allowed'],
    ['attestations-list-attestations', '?status=a&status=b', 'duplicate_query'],
    ['attestations-list-attestations', '?%73tatus=a&status=b', 'duplicate_query'],
    ['attestations-list-attestations', `?subject_id=${'x'.repeat(2049)}`, 'query_too_large'],
    ['attestations-list-attestations', `?${'p=&'.repeat(25)}`, 'query_too_large'],
    ['attestations-list-attestations', '?status=%ff', 'parameter_invalid'],
    ['treaties-get-treaty', '', 'parameter_missing'],
    ['treaties-get-treaty', '?treaty_id=..', 'parameter_invalid'],
    ['treaties-get-treaty', '?treaty_id=a%2Fb', 'parameter_invalid'],
    ['treaties-get-treaty', '?treaty_id=%252e', 'parameter_invalid'],
    ['discovery-get-agent', '?node_public_key=AAAA', 'parameter_invalid'],
  ])('%s%s', async (operation, query, reason) => {
    await expectUnsent(ask(operation, { query }), 400, 'invalid_request', reason)
  })

  it.each(['a//b', '/a', 'a/', 'a/../b', 'a%b', 'a\\b', 'a\u0001b', 'a\u202eb', 'a\u2066b', 'a\u009fb', 'a b'])(
    'refuses the resource %j',
    async (value) => {
      const query = `?resource_id=${encodeURIComponent(value)}`
      const answer = ask('evidence_store-resource-head', { query, headers: SIGNED })
      await expectUnsent(answer, 400, 'invalid_request', 'parameter_invalid')
    },
  )

  it('requires no body on a read, and a strict object elsewhere', async () => {
    await expectUnsent(ask('crl-get-crl', { rawBody: '{}' }), 400, 'invalid_request', 'body_not_allowed')
    for (const rawBody of ['[]', 'null', '1', '"x"']) {
      await expectUnsent(ask('boundary-verify', { rawBody }), 400, 'invalid_request', 'body_object_required')
    }
    await expectUnsent(ask('boundary-verify'), 400, 'invalid_request', 'body_object_required')
    for (const rawBody of ['{', '{"a":1,"a":2}', '{} x', '{"a":"\\ud800"}']) {
      await expectUnsent(ask('boundary-verify', { rawBody }), 400, 'invalid_request', 'invalid_json')
    }
  })
})

it('401: every operator header once, visible and short', async () => {
  for (const [name, value] of Object.entries(SIGNED)) {
    for (const bad of ['', 'v'.repeat(513), 'caf\u00e9', 'a b', [value, value]]) {
      const headers = { ...SIGNED, [name]: bad } as Record<string, string>
      await expectUnsent(ask('admin-policy-history', { headers }), 401, 'unauthorized', 'operator_signature_required')
    }
    const { [name as keyof typeof SIGNED]: _left, ...rest } = SIGNED
    await expectUnsent(
      ask('admin-policy-history', { headers: rest }),
      401,
      'unauthorized',
      'operator_signature_required',
    )
  }
})

describe('403', () => {
  it('does not reveal networks outside the scope', async () => {
    const refusals = [await ask('crl-get-crl', { network: 'hidden' }), await ask('no-such', { network: 'nobody' })]
    for (const answer of [...refusals, await ask('crl-get-crl', { network: '%ff' })])
      expectRefusal(answer, 403, 'forbidden', 'network_scope')
    expect(refusals[0]?.body['error']).toBe(refusals[1]?.body['error'])
    expect(authority.seen).toEqual([])
  })

  it('applies groups, operations and the admin flag', async () => {
    await expectUnsent(ask('evidence-verify', { body: {}, token: reader.token }), 403, 'forbidden', 'service_scope')
    await expectUnsent(ask('public-get-policy', { token: narrow.token }), 403, 'forbidden', 'service_scope')
    const signed = ask('admin-policy-history', { token: reader.token, headers: SIGNED })
    await expectUnsent(signed, 403, 'forbidden', 'admin_scope')
  })

  it('allows a public credential read and verify operations only', async () => {
    await expectUnsent(
      ask('agreement-build-offer-route', { body: {}, token: DEMO_TOKEN }),
      403,
      'forbidden',
      'service_scope',
    )
    expect((await ask('agreement-verify-route', { body: {}, token: DEMO_TOKEN })).status).toBe(200)
    expect((await ask('crl-get-crl', { token: DEMO_TOKEN })).status).toBe(200)
  })
})

it('404 and 405 come before the scope', async () => {
  for (const name of ['no-such', 'CRL-GET-CRL', '__proto__', 'crl-get-crl%2F..', '%63rl-get-crl'])
    await expectUnsent(ask(name, { token: narrow.token }), 404, 'not_found', 'operation')
  const answer = await ask('crl-get-crl', { method: 'POST', body: {}, token: narrow.token })
  expectRefusal(answer, 405, 'method_not_allowed', 'operation')
  expect(answer.headers['allow']).toBe('GET')
})

it('415 for anything but JSON', async () => {
  const headers = { 'content-type': 'text/plain' }
  const answer = ask('boundary-verify', { rawBody: '{}', headers })
  await expectUnsent(answer, 415, 'unsupported_media_type', 'content_type')
})

describe('502', () => {
  const LEAK = 'LEAK-of-the-authority'

  async function expectNeutral(script: Script, reason: string, operation = 'crl-get-crl', options: Ask = {}) {
    const answer = await answering(script, operation, options)
    expectRefusal(answer, 502, 'bad_gateway', reason)
    expect(answer.text).not.toContain('LEAK')
    return answer
  }

  it('authority_redirect, never followed', async () => {
    for (const status of [301, 302, 303, 307, 308, 304]) {
      await expectNeutral(
        { status, body: '', headers: { location: `${authority.url}/elsewhere` } },
        'authority_redirect',
      )
    }
    expect(authority.seen.map(({ target }) => target)).toEqual(Array.from({ length: 6 }, () => '/crl'))
  })

  it('authority_error, with the id and the time to wait', async () => {
    const headers = { 'retry-after': '9', 'x-request-id': 'up-5' }
    const answer = await expectNeutral(
      { status: 503, body: `{"error":{"code":"${LEAK}"}}`, headers },
      'authority_error',
    )
    expect([answer.headers['retry-after'], answer.headers['x-upstream-request-id']]).toEqual(['9', 'up-5'])
  })

  it('authority_invalid_response for a response that is not JSON', async () => {
    for (const body of [`<html>${LEAK}</html>`, `{"${LEAK}":`, '', `{} ${LEAK}`, '\ufeff{}'])
      await expectNeutral({ body }, 'authority_invalid_response')
    const lines = { body: `{"a":1}\n${LEAK}\n` }
    await expectNeutral(lines, 'authority_invalid_response', 'evidence_store-export', { headers: SIGNED })
  })

  it('authority_response_too_large, declared or not', async () => {
    await expectNeutral({ body: `"${'x'.repeat(2_097_152)}"` }, 'authority_response_too_large')
    await expectNeutral({ does: 'stream' }, 'authority_response_too_large')
    const edge = `"${'x'.repeat(2_097_150)}"`
    expect((await answering({ body: edge })).text).toBe(edge)
  })

  it('authority_unreachable, and a failed change is not sent again', async () => {
    expectRefusal(await ask('crl-get-crl', { network: 'dead' }), 502, 'bad_gateway', 'authority_unreachable')
    await expectNeutral({ does: 'cut' }, 'authority_unreachable', 'admin-create-invite', { body: {}, headers: SIGNED })
    expect(authority.seen).toHaveLength(1)
  })

  it('forwards readiness details of an authority to an operator', async () => {
    const details = {
      status: 'not_ready',
      database: { backend: 'sqlite', writable: false, path: `/${LEAK}`, error: 'SqliteError' },
      signing_key: { key_id: LEAK, fingerprint: 'ab'.repeat(32) },
      rate_limiter: 'memory',
      db_path: `/${LEAK}.db`,
    }
    const body = JSON.stringify({ error: { code: 'service_not_ready', message: LEAK, details } })
    const answer = await expectNeutral({ status: 503, body }, 'authority_error', 'health-readyz')
    expect(answer.body['details']).toEqual({
      readiness: {
        status: 'not_ready',
        database: { backend: 'sqlite', writable: false, error: 'SqliteError' },
        signing_key: { fingerprint: 'ab'.repeat(32) },
        rate_limiter: 'memory',
      },
    })
    expect((await expectNeutral({ status: 503, body }, 'authority_error')).body['details']).toBeUndefined()
  })

  it('a silent authority is a timeout at the deadline of the request', async () => {
    const answer = await answering({ does: 'silent' })
    expect([408, 502]).toContain(answer.status)
    expect(['deadline', 'authority_timeout']).toContain(answer.body['reason'])
  })
})

it('503 authority_not_configured comes after the scope and before the query', async () => {
  expectRefusal(
    await ask('crl-get-crl', { network: 'away', query: '?x=1' }),
    503,
    'unavailable',
    'authority_not_configured',
  )
})
