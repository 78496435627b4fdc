// oxlint-disable max-lines -- all tries use one setup of real proxies
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type JoinCertificate, type JsonObject, type Signer, contentDigest, toUtf8 } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testProof,
  testSigner,
} from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DIALECT_OF, PROXIES, startCheckProxy, startCheckedService } from '../instances/check-proxies.ts'
import type { CheckProxy, CheckedService, ServedRequest } from '../instances/check-proxies.ts'
import { sendRaw } from '../instances/raw-requests.ts'

/**
 * Holds for nginx, Caddy and HAProxy with the configuration of the documentation: a request reaches the service only
 * with a fresh proof of a trusted node, and the service sees the results of the check and never those of a client.
 */
const AUTHORITY = 'print.example'
const AUDIENCE = `https://${AUTHORITY}`
const ROUTES = [
  { method: 'GET', path: '/jobs/{job*}' },
  { method: 'POST', path: '/uploads', body: 'upstream' },
  { method: 'POST', path: '/jobs' },
]

interface Given {
  readonly method?: string
  readonly target: string
  readonly signed?: string
  readonly body?: string
  /** Sent over HTTP/2 in place of the signed body. */
  readonly sent?: string
  readonly by?: JoinCertificate
  readonly headers?: readonly (readonly [string, string])[]
  readonly proof?: Readonly<Record<string, string>>
  readonly host?: string
}

describe.each(PROXIES)('%s', (kind) => {
  let service: CheckedService
  let gateway: TestGateway
  let proxy: CheckProxy
  let signer: Signer
  let certificate: JoinCertificate
  let later: JoinCertificate
  let policyWith: (revoked: readonly string[]) => Promise<JsonObject>

  beforeAll(async () => {
    const by = await testIssuer('agency')
    signer = await testSigner('node', 'proxied')
    const facts = { node_public_key: signer.publicKey }
    certificate = await testCertificate(by, systemClock.now(), facts)
    later = await testCertificate(by, systemClock.now(), facts)
    let sequence = 9
    policyWith = async (revoked) => {
      sequence += 1
      const entries = revoked.map((certificate_id) => ({ certificate_id }))
      const list = await testList(by, systemClock.now(), { sequence, entries })
      const policy = testPolicy({ agency: testNetwork(by, list) }, [testClient('caller', ['agency'])])
      return { ...policy, check: { audience: AUDIENCE, routes: ROUTES } }
    }
    service = await startCheckedService()
    gateway = await startTestGateway({
      policy: await policyWith([]),
      settings: { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: DIALECT_OF[kind] },
    })
    const check = gateway.gateway.listening.check?.port ?? 0
    proxy = await startCheckProxy(kind, { check, service: service.port })
    // Proofs from the second in which the gateway started count as spent.
    while ((await send({ target: '/jobs/1' })).status !== 200) await pause(50)
  })
  afterAll(async () => {
    await proxy.stop()
    await gateway.stop()
    await service.stop()
  })
  beforeEach(() => {
    service.served.length = 0
  })

  async function proofFor({ method = 'GET', target, signed = target, body = '', by = certificate }: Given) {
    return testProof({
      method,
      target: signed,
      body,
      audience: AUDIENCE,
      certificate: by,
      signer,
      now: systemClock.now(),
    })
  }

  async function send(given: Given): Promise<{ status: number; headers: Readonly<Record<string, string>> }> {
    const { method = 'GET', target, body = '', headers = [], proof = await proofFor(given), host = AUTHORITY } = given
    const all = [
      ...Object.entries(proof),
      ...headers,
      ...(body === '' ? [] : [['content-length', String(body.length)]]),
    ]
    return sendRaw(proxy.port, { method, target, headers: all as [string, string][], body, host })
  }

  const valuesOf = ({ rawHeaders }: ServedRequest, name: string): string[] =>
    rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)

  it('lets a proven request pass, with the target as it was signed and the results of the check', async () => {
    const target = '/jobs/a%20b/caf%C3%A9?x=%2F..%2F&y=1'
    expect((await send({ target })).status).toBe(200)
    const [seen] = service.served
    if (seen === undefined) throw new Error('nothing was served')
    expect([seen.method, seen.url]).toEqual(['GET', target])
    expect(valuesOf(seen, 'chancery-node')).toEqual([certificate.cert_id])
    expect(valuesOf(seen, 'chancery-network')).toEqual(['agency'])
    expect(valuesOf(seen, 'chancery-roles')).toEqual(['role:client'])
    expect(valuesOf(seen, 'chancery-node-key')).toEqual([signer.publicKey])
    expect(valuesOf(seen, 'chancery-decision').join('')).toBe('')
  })

  it('stops requests without a proof, with a spent one, and with one for another target', async () => {
    expect((await send({ target: '/jobs/1', proof: {} })).status).toBe(401)
    const proof = await proofFor({ target: '/jobs/1' })
    expect((await send({ target: '/jobs/1', proof })).status).toBe(200)
    expect((await send({ target: '/jobs/1', proof })).status).toBe(401)
    expect((await send({ target: '/jobs/2', signed: '/jobs/1' })).status).toBe(401)
    expect((await send({ target: '/other' })).status).toBe(403)
    expect(service.served).toHaveLength(1)
  })

  it('stops or replaces headers that only the check may set', async () => {
    const smuggled: readonly (readonly [string, string])[][] = [
      [['Chancery-Node', 'cert-admin']],
      [['chancery-roles', 'role:admin']],
      [['Chancery-Decision', 'forged']],
      [['chancery_node', 'cert-admin']],
      [
        ['Chancery-Node', 'a'],
        ['chancery-node', 'b'],
      ],
      [['Connection', 'chancery-node']],
      [['X-Original-URI', '/jobs/1']],
      [['X-Forwarded-Uri', '/jobs/1']],
      [['X-Forwarded-Method', 'GET']],
      [['X-Original-Method', 'GET']],
    ]
    for (const headers of smuggled) {
      service.served.length = 0
      const { status } = await send({ target: '/jobs/1', headers })
      expect([200, 403]).toContain(status)
      for (const seen of service.served) {
        expect(valuesOf(seen, 'chancery-node')).toEqual([certificate.cert_id])
        expect(valuesOf(seen, 'chancery-roles')).toEqual(['role:client'])
        expect(valuesOf(seen, 'chancery-decision').join('')).toBe('')
        expect(valuesOf(seen, 'chancery_node')).toEqual([])
      }
      // The headers of a dialect choose nothing when a client sends them.
      service.served.length = 0
      expect((await send({ target: '/jobs/2', signed: '/jobs/1', headers })).status).not.toBe(200)
      expect(service.served).toHaveLength(0)
    }
    expect((await send({ target: '/jobs/1', headers: [['X-HTTP-Method-Override', 'DELETE']] })).status).toBe(403)
  })

  it('stops every path with two readings', async () => {
    const targets = [
      '/jobs/../admin',
      '/jobs/%2e%2e/admin',
      '/jobs//1',
      '/jobs/a%2Fb',
      '/jobs/%61',
      '/jobs/..;/x',
      '/jobs/%252e',
      '/JOBS/1',
      '/jobs/a%00b',
    ]
    for (const target of targets) expect([target, (await send({ target })).status]).not.toEqual([target, 200])
    expect(service.served).toHaveLength(0)
  })

  it('passes a large body with its digest where the service compares it, and stops it elsewhere', async () => {
    const body = 'x'.repeat(3_000_000)
    expect((await send({ method: 'POST', target: '/uploads', body })).status).toBe(200)
    const [seen] = service.served
    if (seen === undefined) throw new Error('nothing was served')
    expect(valuesOf(seen, 'chancery-body-digest')).toEqual([contentDigest(toUtf8(body))])
    expect(contentDigest(seen.body)).toBe(contentDigest(toUtf8(body)))
    service.served.length = 0
    expect((await send({ method: 'POST', target: '/jobs', body: 'data' })).status).toBe(403)
    expect(service.served).toHaveLength(0)
  })

  it('stops a body when the node signed that there is none', async () => {
    for (const [method, target] of [
      ['GET', '/jobs/1'],
      ['POST', '/jobs'],
    ] as const) {
      const framings: readonly (readonly [string, string, string])[] = [
        ['Content-Length', '4', 'evil'],
        ['Transfer-Encoding', 'chunked', '4\r\nevil\r\n0\r\n\r\n'],
      ]
      for (const [name, value, text] of framings) {
        const headers = [...Object.entries(await proofFor({ method, target })), [name, value] as const]
        const { status } = await sendRaw(proxy.port, { method, target, headers, body: text })
        // Caddy does not ask about a body without a length.
        const refused = kind === 'caddy' && name === 'Transfer-Encoding' ? 411 : 403
        expect([method, name, status]).toEqual([method, name, refused])
      }
    }
    expect(service.served).toHaveLength(0)
  })

  it('keeps the results of the check when a client names them in Connection', async () => {
    const headers: readonly (readonly [string, string])[] = [
      ['Connection', 'Chancery-Node, Chancery-Roles, Chancery-Body-Digest'],
    ]
    expect((await send({ target: '/jobs/1', headers })).status).toBe(200)
    const [seen] = service.served
    if (seen === undefined) throw new Error('nothing was served')
    expect(valuesOf(seen, 'chancery-node')).toEqual([certificate.cert_id])
    expect(valuesOf(seen, 'chancery-roles')).toEqual(['role:client'])
    expect(valuesOf(seen, 'chancery-body-digest')).toEqual([contentDigest(toUtf8(''))])
  })

  it('passes on the configured host, whatever a client sends', async () => {
    const headers = [['X-Forwarded-Host', 'other.example']] as const
    for (const host of [AUTHORITY, 'other.example', 'other.example:8000']) {
      service.served.length = 0
      expect([host, (await send({ target: '/jobs/1', host, headers })).status]).toEqual([host, 200])
      const [seen] = service.served
      if (seen === undefined) throw new Error('nothing was served')
      expect(valuesOf(seen, 'host')).toEqual([AUTHORITY])
      expect(valuesOf(seen, 'x-forwarded-host')).toEqual([])
    }
  })

  it('lets nothing pass when another program answers on the port of the check', async () => {
    for (const [status, names] of [
      [200, {}],
      [204, {}],
      [200, { 'chancery-node': '' }],
    ] as const) {
      const other = createServer((_request, response) => response.writeHead(status, names).end())
      await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
      const check = (other.address() as AddressInfo).port
      const misled = await startCheckProxy(kind, { check, service: service.port })
      try {
        for (const headers of [
          [],
          [['Chancery-Node', 'cert-admin']],
          Object.entries(await proofFor({ target: '/' })),
        ]) {
          const answer = await sendRaw(misled.port, {
            method: 'GET',
            target: '/',
            headers: headers as [string, string][],
          })
          expect([status, answer.status]).toEqual([status, 403])
        }
      } finally {
        await misled.stop()
        other.closeAllConnections()
        other.close()
      }
    }
    expect(service.served).toHaveLength(0)
  })

  it('changes no connection to another protocol', async () => {
    for (const protocol of ['h2c', 'websocket', 'other']) {
      const headers: readonly (readonly [string, string])[] = [
        ['Connection', 'Upgrade, HTTP2-Settings'],
        ['Upgrade', protocol],
        ['HTTP2-Settings', 'AAMAAABkAARAAAAAAAIAAAAA'],
        ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
        ['Sec-WebSocket-Version', '13'],
      ]
      expect([protocol, (await send({ target: '/jobs/1', headers })).status]).toEqual([protocol, 200])
    }
    expect(service.upgrades).toEqual([])
  })

  it.runIf(kind === 'nginx')('passes no body without a length over HTTP/2', async () => {
    const check = gateway.gateway.listening.check?.port ?? 0
    const addHttp2 = (text: string): string => text.replace(/listen ([\d.:]+);/, 'listen $1 http2;')
    const modern = await startCheckProxy(kind, { check, service: service.port }, addHttp2)
    const session = connect(`http://127.0.0.1:${modern.port}`)
    const sendStream = async (given: Given, more: Readonly<Record<string, string>> = {}): Promise<number> => {
      const { method = 'GET', target, body = '', sent = body } = given
      const head = { ':method': method, ':path': target, ':authority': AUTHORITY, ...(await proofFor(given)), ...more }
      const stream = session.request(head, { endStream: false })
      stream.end(sent)
      const [answer] = (await once(stream, 'response')) as [{ ':status'?: number }]
      stream.resume()
      await once(stream, 'close')
      return answer[':status'] ?? 0
    }
    const evil = { sent: 'evil' }
    try {
      expect(await sendStream({ target: '/jobs/1' })).toBe(200)
      // The node signed that there is no body, so the service gets none.
      expect(await sendStream({ target: '/jobs/1', ...evil })).toBe(200)
      expect(await sendStream({ method: 'POST', target: '/jobs', ...evil })).toBe(200)
      expect(service.served.map(({ body }) => body.length)).toEqual([0, 0, 0])
      expect(await sendStream({ target: '/jobs/1', ...evil }, { 'content-length': '4' })).toBe(403)
      service.served.length = 0
      // A body needs its length.
      const upload = { method: 'POST', target: '/uploads', body: 'data' }
      await sendStream(upload)
      await sendStream(upload, { 'content-length': '4' })
      expect(service.served.map(({ body }) => body.toString('utf8'))).toEqual(['', 'data'])
    } finally {
      session.destroy()
      await modern.stop()
    }
  })

  it('stops a certificate that was revoked in between', async () => {
    expect((await send({ target: '/jobs/1', by: later })).status).toBe(200)
    await gateway.reload(await policyWith([later.cert_id]))
    expect((await send({ target: '/jobs/1', by: later })).status).toBe(403)
    expect((await send({ target: '/jobs/1' })).status).toBe(200)
  })

  it('is closed while the gateway is down', async () => {
    await gateway.stop()
    const { status } = await send({ target: '/jobs/1' })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(service.served).toHaveLength(0)
  })
})
