import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  createTestDatabase,
  createTestNetwork,
  startAuthorityProcess,
  startGatewayProcess,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

const REGISTER = pathToFileURL(join(import.meta.dirname, '../../packages/telemetry/src/register.ts')).href

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}
interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

/** A collector: OTLP over HTTP, in JSON, as the exporter sends it. */
class Collector {
  readonly spans: Span[] = []
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const given = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Export
        for (const { scopeSpans } of given.resourceSpans) for (const { spans } of scopeSpans) this.spans.push(...spans)
        response.setHeader('content-type', 'application/json').end('{}')
      })
    }).listen(0, '127.0.0.1')
  }

  /** The settings with which a service sends its spans here, after 50 ms. */
  async settings(): Promise<Record<string, string>> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    const { port } = this.#server.address() as AddressInfo
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '50' }
  }

  /** The spans of a trace, once its request has ended. */
  async trace(traceId: string): Promise<readonly Span[]> {
    return vi.waitFor(
      () => {
        const found = this.spans.filter((span) => span.traceId === traceId)
        if (!found.some(({ name }) => /^(GET|POST) /.test(name))) throw new Error('the request has not ended')
        return found
      },
      { timeout: 10_000, interval: 50 },
    )
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function newTrace(): { readonly traceId: string; readonly spanId: string; readonly headers: Record<string, string> } {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-00`, tracestate: 'canary=of-a-caller' } }
}

/** Returns the names from a span up to the request, or up to a missing parent. */
function wayUp(spans: readonly Span[], span: Span | undefined): readonly string[] {
  if (span === undefined) return []
  return [
    span.name,
    ...wayUp(
      spans,
      spans.find(({ spanId }) => spanId === span.parentSpanId),
    ),
  ]
}

const KNOWN = new Set([
  'http.route',
  'http.request.method',
  'http.response.status_code',
  'chancery.request_id',
  'chancery.key_provider',
  'db.system.name',
  'db.query.summary',
  'server.address',
  'error.type',
])

const collector = new Collector()
let network: TestNetwork
beforeAll(async () => {
  network = await createTestNetwork('TRACED-NET')
})
afterAll(() => collector.close())

describe.each(['sqlite', 'postgres'] as const)('an authority on %s', (backend) => {
  let database: TestDatabase
  let na: AuthorityProcess
  beforeAll(async () => {
    database = await createTestDatabase(backend)
    const settings = { ...database.settings, ...(await collector.settings()) }
    na = await startAuthorityProcess({ network, settings, execArgv: ['--import', REGISTER] })
  }, 60_000)
  afterAll(async () => {
    await na.stop()
    await database.drop()
  })

  it('one request gives one connected trace, from the caller down to statements and signature', async () => {
    const { traceId, spanId, headers } = newTrace()
    expect((await na.request('GET', '/policy', { headers })).status).toBe(200)
    const spans = await collector.trace(traceId)
    const request = spans.find(({ name }) => name === 'GET /policy')
    expect(request?.parentSpanId).toBe(spanId)
    for (const span of spans.filter((one) => one !== request))
      expect(wayUp(spans, span).at(-1), span.name).toBe('GET /policy')
    const ways = spans.map((span) => wayUp(spans, span).join(' < '))
    expect(ways).toContain('sign < handle GET /policy < GET /policy')
    // A prepared statement of PostgreSQL is shown with its own name.
    const insert = backend === 'postgres' ? 'insert-audit-events' : 'insert audit_events'
    expect(ways).toContain(`${insert} < handle GET /policy < GET /policy`)
    expect(ways).toContain('commit < handle GET /policy < GET /policy')
  })

  it('holds no secret and nothing of unbounded size', async () => {
    const { traceId, headers } = newTrace()
    const body = { roles: ['role:client'], max_validity_hours: 24 }
    const answer = await na.as('privileged')('POST', '/admin/invite', body, { headers })
    const token = String(accepted(answer, 201)['token_id'])
    const spans = await collector.trace(traceId)
    expect(spans.map(({ name }) => name)).toContain('insert invite_tokens')
    const text = JSON.stringify(collector.spans)
    for (const canary of [token, 'canary', 'role:client', network.authority.publicKey])
      expect(text).not.toContain(canary)
    for (const { name, attributes } of collector.spans) {
      expect(name.length).toBeLessThan(100)
      for (const { key, value } of attributes) {
        expect(KNOWN).toContain(key)
        expect(String(Object.values(value)[0]).length).toBeLessThan(130)
      }
    }
  })

  it('a traceparent that is given twice or malformed begins a new trace', async () => {
    const [first, second] = [newTrace(), newTrace()]
    const both = [first.headers['traceparent'] ?? '', second.headers['traceparent'] ?? '']
    const before = collector.spans.length
    expect((await na.request('GET', '/genesis', { headers: { traceparent: both } })).status).toBe(200)
    expect((await na.request('GET', '/genesis', { headers: { traceparent: `00-${'0'.repeat(32)}-x` } })).status).toBe(
      200,
    )
    const roots = await vi.waitFor(
      () => {
        const found = collector.spans.slice(before).filter(({ name }) => name === 'GET /genesis')
        expect(found).toHaveLength(2)
        return found
      },
      { timeout: 10_000 },
    )
    for (const { traceId, parentSpanId } of roots) {
      expect([first.traceId, second.traceId, '0'.repeat(32)]).not.toContain(traceId)
      expect(parentSpanId ?? '').toBe('')
    }
  })
})

describe('a gateway', () => {
  it.each([
    ['sends nothing of the trace to the authority', false],
    ['names its span to the authority where the policy allows it', true],
  ])(
    'traces the call it makes, and %s',
    async (_name, forward_traceparent) => {
      const seen: IncomingHttpHeaders[] = []
      const folder = await mkdtemp(join(tmpdir(), 'chancery-traces-'))
      const door = createServer((request, response) => {
        seen.push(request.headers)
        response.setHeader('content-type', 'application/json').end('{}')
      }).listen(0, '127.0.0.1')
      await once(door, 'listening')
      const { port } = door.address() as AddressInfo
      const by = await testIssuer('traced')
      const list = await testList(by, systemClock.now())
      const caller = testClient('service', ['traced'], { service_groups: ['network'] })
      const reached = { authority_url: `http://127.0.0.1:${port}`, allow_http: true, forward_traceparent }
      const traced = testNetwork(by, list, reached)
      await writeFile(join(folder, 'policy.json'), writeJson(testPolicy({ traced }, [caller])), { mode: 0o600 })
      const gateway = await startGatewayProcess({
        ...(await collector.settings()),
        NODE_OPTIONS: `--import ${REGISTER}`,
        GATEWAY_POLICY_FILE: join(folder, 'policy.json'),
      })
      try {
        const { traceId, headers } = newTrace()
        const path = '/v1/networks/traced/services/public-get-genesis'
        const answer = await gateway?.request('GET', path, { token: caller.token, headers })
        expect(answer?.status).toBe(200)
        const spans = await collector.trace(traceId)
        const call = spans.find(({ name }) => name === 'call authority')
        expect(wayUp(spans, call)).toEqual(['call authority', 'GET /v1/networks/{network}/services/{operation}'])
        expect(seen).toHaveLength(1)
        for (const name of ['tracestate', 'baggage']) expect(seen[0]).not.toHaveProperty(name)
        const expected = forward_traceparent ? `00-${traceId}-${call?.spanId}-01` : undefined
        expect(seen[0]?.['traceparent']).toBe(expected)
        // What joins the two traces: the one id both carry.
        const id = spans.flatMap(({ attributes }) => attributes).find(({ key }) => key === 'chancery.request_id')
        expect(seen[0]?.['x-request-id']).toBe(id?.value['stringValue'])
        expect(JSON.stringify(spans)).not.toContain(caller.token)
      } finally {
        await gateway?.stop()
        door.close()
        await rm(folder, { recursive: true })
      }
    },
    60_000,
  )
})
