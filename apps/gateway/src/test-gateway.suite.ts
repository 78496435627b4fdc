import { type Socket, connect } from 'node:net'
import { type JoinCertificate, type JsonObject, readInstant } from '@chancery/protocol'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { GatewayResponse, TestClient, TestGateway, TestGatewayOptions, TestIssuer } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { expect } from 'vitest'
import { auditRows, eventText } from './state/audit-log.ts'
import { openStateFile } from './state/state-file.ts'

/** One network, one client and one metrics client, which most tests of the gateway need. */
export interface TestGatewaySetup {
  readonly by: TestIssuer
  readonly caller: TestClient
  readonly metricsClient: TestClient
  readonly gateway: TestGateway
  verify(certificate: JsonObject, more?: JsonObject): Promise<GatewayResponse>
  batch(certificates: readonly JsonObject[], more?: JsonObject): Promise<GatewayResponse>
  certificate(over?: Partial<JoinCertificate>): Promise<JoinCertificate>
  metric(name: string): Promise<number>
}

export interface TestSetupOptions extends Omit<TestGatewayOptions, 'policy'> {
  readonly entries?: readonly { certificate_id: string; reason?: string }[]
  readonly network?: JsonObject
  readonly client?: JsonObject
  /** Further members of the policy. */
  readonly more?: JsonObject
}

export async function startTestSetup(options: TestSetupOptions = {}): Promise<TestGatewaySetup> {
  const clock = options.clock ?? systemClock
  const by = await testIssuer('agency')
  const list = await testList(by, clock.now(), { entries: options.entries ?? [] })
  const caller = testClient('caller', ['agency'], options.client)
  const metricsClient = testClient('watcher', [], { metrics: true })
  const written = testPolicy({ agency: testNetwork(by, list, options.network) }, [caller, metricsClient])
  const gateway = await startTestGateway({ ...options, policy: { ...written, ...options.more } })
  const post = (path: string, body: JsonObject): Promise<GatewayResponse> =>
    gateway.request('POST', path, { token: caller.token, body })
  return {
    by,
    caller,
    metricsClient,
    gateway,
    verify: (certificate, more = {}) => post('/verify', { certificate, ...more }),
    batch: (certificates, more = {}) => post('/verify/batch', { certificates, ...more }),
    certificate: (over) => testCertificate(by, clock.now(), over),
    metric: async (name) => {
      const { text } = await gateway.request('GET', '/metrics', { token: metricsClient.token })
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    },
  }
}

/** Expects a refusal with its flat body and one request id in header and body (protocol/gateway 6). */
export function expectRefusal(answer: GatewayResponse, status: number, code: string, reason: string): void {
  const { error, request_id, details: _details, outcome_uncertain: _uncertain, ...rest } = answer.body
  expect([answer.status, rest]).toEqual([status, { code, reason }])
  expect(typeof error).toBe('string')
  expect(request_id).toBe(answer.headers['x-request-id'])
}

/** Returns every stored event of the durable audit, oldest first. */
export async function auditEvents({ gateway }: TestGateway): Promise<readonly JsonObject[]> {
  const { stateFile, stateMaxBytes } = gateway.core.settings
  if (stateFile === undefined) return []
  const db = openStateFile({ file: stateFile, isReadOnly: true, maxBytes: stateMaxBytes })
  try {
    return [...auditRows(db, Number.MAX_SAFE_INTEGER)].map((row) => JSON.parse(eventText(row)) as JsonObject)
  } finally {
    db.close()
  }
}

/** Sends exactly this text on a connection, and collects the response. */
export class RawCaller {
  readonly socket: Socket
  text = ''

  constructor(url: string, sent: string, from?: string) {
    const { hostname, port } = new URL(url)
    this.socket = connect({ host: hostname, port: Number(port), ...(from === undefined ? {} : { localAddress: from }) })
    this.socket.on('error', () => undefined).on('data', (data) => (this.text += data.toString('latin1')))
    this.socket.write(sent)
  }

  /** Returns the status of the first response. */
  async status(): Promise<number> {
    for (let tries = 0; tries < 1000 && !this.text.includes('\r\n\r\n'); tries += 1) {
      await new Promise((done) => setTimeout(done, 10))
    }
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1])
  }

  get requestId(): string {
    return /x-request-id: (\S+)/i.exec(this.text)?.[1] ?? ''
  }
}

/** Writes the head of a request, and the given part of its body. */
export function rawRequest(
  method: string,
  path: string,
  {
    token,
    length,
    sent,
    headers = {},
  }: { token: string; length: number; sent: string; headers?: Record<string, string> },
): string {
  const all = { host: 'x', authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}content-length: ${length}\r\n\r\n${sent}`
}

export function at(text: string): bigint {
  const instant = readInstant(text)
  if (instant === undefined) throw new Error('no instant')
  return instant
}
