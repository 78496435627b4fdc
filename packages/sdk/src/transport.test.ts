import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { AnswerError, UnreachableError } from './errors.ts'
import { listen } from './http-server.suite.ts'
import type { Reply, TestServer } from './http-server.suite.ts'
import { send } from './transport.ts'
import type { Incoming, Outgoing, TransportOptions } from './transport.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

async function sendTo(
  reply: Reply,
  options: Partial<TransportOptions> = {},
  outgoing: Partial<Outgoing> = {},
): Promise<Incoming> {
  server = await listen(() => reply)
  return send(
    { fetch: (url, init) => fetch(url, init), timeoutMs: 5000, maxAnswerBytes: 1000, ...options },
    { baseUrl: server.url, method: 'GET', target: '/x', headers: {}, ...outgoing },
  )
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('send', () => {
  it('gives status, bytes and the facts of the head', async () => {
    const incoming = await sendTo({ status: 429, raw: 'slow down', headers: { 'Retry-After': '60' } })
    expect(incoming).toMatchObject({ status: 429, retryAfterSeconds: 60, requestId: 'from-the-server' })
    expect(Buffer.from(incoming.body).toString()).toBe('slow down')
    expect(incoming.dateMs).toBeTypeOf('number')
  })

  it('ignores a Retry-After that is not a number of seconds', async () => {
    const incoming = await sendTo({ headers: { 'Retry-After': 'Wed, 21 Oct 2026 07:28:00 GMT' } })
    expect(incoming.retryAfterSeconds).toBeUndefined()
  })

  it('stops reading an answer that is too large', async () => {
    const error = await failure(sendTo({ raw: 'x'.repeat(1001) }))
    expect(error).toBeInstanceOf(AnswerError)
    expect(error).toMatchObject({ problem: 'it is larger than 1000 bytes' })
  })

  it('stops decoding a compressed answer that grows too large', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, ' '))
    const coded = createServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })
    await new Promise<void>((done) => coded.listen(0, '127.0.0.1', done))
    let decoded = 0
    const counting: TransportOptions['fetch'] = async (url, init) => {
      const response = await fetch(url, init)
      const count = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          decoded += chunk.length
          controller.enqueue(chunk)
        },
      })
      return new Response(response.body?.pipeThrough(count), response)
    }
    try {
      const url = `http://127.0.0.1:${(coded.address() as AddressInfo).port}`
      const options = { fetch: counting, timeoutMs: 5000, maxAnswerBytes: 1_000_000 }
      const error = await failure(send(options, { baseUrl: url, method: 'GET', target: '/crl', headers: {} }))
      expect(error).toMatchObject({ problem: 'it is larger than 1000000 bytes' })
      expect(decoded).toBeLessThan(5_000_000)
    } finally {
      coded.closeAllConnections()
      coded.close()
    }
  })

  it('takes an answer of exactly the bound', async () => {
    expect((await sendTo({ raw: 'x'.repeat(1000) })).body.length).toBe(1000)
  })

  it('follows no redirect', async () => {
    const error = await failure(sendTo({ status: 302, headers: { Location: 'https://elsewhere.example/' } }))
    expect(error).toBeInstanceOf(UnreachableError)
    expect(server?.received).toHaveLength(1)
  })

  it('says that nothing was sent when there is no listener', async () => {
    const closed = await listen(() => ({}))
    await closed.close()
    const error = await failure(
      send(
        { fetch: (url, init) => fetch(url, init), timeoutMs: 5000, maxAnswerBytes: 1000 },
        { baseUrl: closed.url, method: 'POST', target: '/x', headers: {} },
      ),
    )
    expect(error).toMatchObject({ name: 'UnreachableError', sent: 'never', systemCode: 'ECONNREFUSED' })
  })

  it('does not know the fate of a request whose connection broke', async () => {
    const error = await failure(sendTo({ destroy: true }, {}, { method: 'POST' }))
    expect(error).toMatchObject({ name: 'UnreachableError', sent: 'perhaps' })
  })

  it('ends at the time budget', async () => {
    const error = await failure(sendTo({ hang: true }, { timeoutMs: 500 }))
    expect(error).toMatchObject({ name: 'UnreachableError', sent: 'perhaps', systemCode: 'TIMEOUT' })
  })

  it('gives the reason of the caller who aborts', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('no longer wanted')), 30)
    const error = await failure(sendTo({ hang: true }, {}, { signal: controller.signal }))
    expect(error).toMatchObject({ message: 'no longer wanted' })
  })
})
