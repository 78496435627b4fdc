import { type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ResponseError, UnreachableError } from '../errors.ts'
import { type Reply, type TestServer, listen } from './http-server.suite.ts'
import { type Incoming, type Outgoing, type TransportOptions, send } from './transport.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

async function sendTo(
  reply: Reply,
  options: Partial<TransportOptions> = {},
  outgoing: Partial<Outgoing> = {},
): Promise<Incoming> {
  server = await listen(() => reply)
  return send(
    { fetch: (url, init) => fetch(url, init), timeoutMs: 5000, maxResponseBytes: 1000, ...options },
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
    expect(error).toBeInstanceOf(ResponseError)
    expect(error).toMatchObject({ problem: 'it is larger than 1000 bytes' })
  })

  it('stops decoding a compressed answer that grows too large', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, ' '))
    const coded = createServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb)
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
      const options = { fetch: counting, timeoutMs: 5000, maxResponseBytes: 1_000_000 }
      const error = await failure(send(options, { baseUrl: url, method: 'GET', target: '/crl', headers: {} }))
      expect(error).toMatchObject({ problem: 'it is larger than 1000000 bytes' })
      expect(decoded).toBeLessThan(5_000_000)
    } finally {
      coded.closeAllConnections()
      coded.close()
    }
  })

  describe('with compressed answers', () => {
    let coded: Server
    let reply: (response: ServerResponse, accepts: string) => void
    const accepted: string[] = []
    beforeEach(async () => {
      accepted.length = 0
      coded = createServer((request, response) => {
        accepted.push(String(request.headers['accept-encoding']))
        reply(response, accepted.at(-1) ?? '')
      })
      await new Promise<void>((done) => coded.listen(0, '127.0.0.1', done))
    })
    afterEach(() => {
      coded.closeAllConnections()
      coded.close()
    })

    function ask(outgoing: Partial<Outgoing> = {}): Promise<Incoming> {
      const baseUrl = `http://127.0.0.1:${(coded.address() as AddressInfo).port}`
      return send(
        { fetch: (url, init) => fetch(url, init), timeoutMs: 20_000, maxResponseBytes: 1_000_000 },
        { baseUrl, method: 'GET', target: '/crl', headers: {}, ...outgoing },
      )
    }

    /** Empty blocks without end: they decode to no byte. */
    function sendEmptyBlocks(response: ServerResponse, sent: { bytes: number }): void {
      const blocks = Buffer.alloc(65_535, Buffer.from([0, 0, 0, 0xff, 0xff]))
      response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]))
      const more = (): void => {
        while (!response.destroyed) {
          sent.bytes += blocks.length
          if (!response.write(blocks)) return void response.once('drain', more)
        }
      }
      more()
    }

    it.each([true, false])(
      'reads nothing of one without a length that was not asked for (takesGzip %s)',
      async (takesGzip) => {
        const sent = { bytes: 0 }
        reply = (response) => sendEmptyBlocks(response.writeHead(200, { 'content-encoding': 'gzip' }), sent)
        expect(await failure(ask({ takesGzip }))).toMatchObject({
          name: 'ResponseError',
          problem: 'it is compressed and its length is not given',
        })
        expect(accepted).toEqual(takesGzip ? ['gzip', 'identity'] : ['identity'])
        // What is in the buffers of the connection was sent, too.
        expect(sent.bytes).toBeLessThan(33_554_432)
      },
    )

    it('reads nothing of one whose compressed form is over the bound', async () => {
      const sent = { bytes: 0 }
      reply = (response) => {
        sendEmptyBlocks(response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': 100_000_000 }), sent)
      }
      expect(await failure(ask({ takesGzip: true }))).toMatchObject({ problem: 'it is larger than 1000000 bytes' })
      expect(sent.bytes).toBeLessThan(33_554_432)
    })

    it('asks again without compression behind a proxy that compresses while it sends', async () => {
      reply = (response, accepts) => {
        if (accepts === 'gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('the list'))
        else response.end('the list')
      }
      expect(Buffer.from((await ask({ takesGzip: true })).body).toString()).toBe('the list')
      expect(accepted).toEqual(['gzip', 'identity'])
    })

    it('does not repeat a request that may be sent once', async () => {
      reply = (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('the page'))
      expect(await failure(ask({ takesGzip: 'once' }))).toMatchObject({
        problem: 'it is compressed and its length is not given',
      })
      expect(accepted).toEqual(['gzip'])
    })

    it('takes one with its length at the first request', async () => {
      const bytes = gzipSync('the list')
      reply = (response) => {
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bytes.length }).end(bytes)
      }
      expect(Buffer.from((await ask({ takesGzip: true })).body).toString()).toBe('the list')
      expect(accepted).toEqual(['gzip'])
    })
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
        { fetch: (url, init) => fetch(url, init), timeoutMs: 5000, maxResponseBytes: 1000 },
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
