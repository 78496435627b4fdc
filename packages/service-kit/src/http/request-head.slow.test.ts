import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Edge, Wire, expectRefused, expectSecurityHeaders, once, request, startEdge } from './test-edge.suite.ts'

describe('raw HTTP', () => {
  let edge: Edge
  beforeAll(async () => {
    edge = await startEdge()
  })
  afterAll(() => edge.stop())

  /** Sends the bytes, expects the refusal in the envelope and the end of the connection. */
  async function expectClosed(text: string | Uint8Array, status: number, code: string): Promise<void> {
    const wire = await Wire.open(edge.port)
    const reply = await wire.send(text).reply('POST')
    expectRefused(reply, status, code)
    expect(reply.headers.get('connection')).toBe('close')
    expect(await wire.closes()).toBe(true)
    await expect(wire.reply('GET', 20)).rejects.toThrow('closed')
  }

  describe('400, and the connection is closed', () => {
    // reliability 3: names whose repetition lets two parsers see two requests.
    it.each([
      ['Host', request('GET /healthz', ['Host: a', 'Host: b'])],
      ['Host with the same value', request('GET /healthz', ['Host: a', 'Host: a'])],
      ['Host in other letter case', request('GET /healthz', ['Host: a', 'hOST: b'])],
      ['Content-Length', request('POST /echo', ['Content-Length: 2', 'Content-Length: 2'], '{}')],
      ['Content-Length as a list', request('POST /echo', ['Content-Length: 2, 2'], '{}')],
      [
        'Transfer-Encoding',
        request('POST /echo', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      ],
      ['Content-Type', request('POST /echo', ['Content-Type: application/json', 'Content-Type: application/json'])],
      ['Authorization', request('GET /healthz', ['Authorization: a', 'Authorization: b'])],
      ['Content-Type on an unknown path', request('POST /nowhere', ['Content-Type: a/b', 'Content-Type: a/b'])],
      ['Content-Type on a wrong method', request('PUT /echo', ['Content-Type: a/b', 'Content-Type: a/b'])],
    ])('repeated %s', async (_what, text) => {
      await expectClosed(text, 400, 'bad_request')
    })

    it.each([
      [
        'length and chunked framing',
        request('POST /echo', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      ],
      [
        'chunked framing and length',
        request('POST /echo', ['Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'),
      ],
      ['a negative length', request('POST /echo', ['Content-Length: -1'])],
      ['a length with a sign', request('POST /echo', ['Content-Length: +2'], '{}')],
      ['a hexadecimal length', request('POST /echo', ['Content-Length: 0x2'], '{}')],
      ['an empty length', request('POST /echo', ['Content-Length:'], '{}')],
      ['a length beyond any number', request('POST /echo', [`Content-Length: ${'9'.repeat(40)}`])],
      ['a transfer coding that is not chunked', request('POST /echo', ['Transfer-Encoding: gzip'], '{}')],
      [
        'chunked that is not the last coding',
        request('POST /echo', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'),
      ],
      ['a malformed chunk size', request('POST /echo', ['Transfer-Encoding: chunked'], 'xx\r\n{}\r\n0\r\n\r\n')],
      [
        'a chunk longer than its declared size',
        request('POST /echo', ['Transfer-Encoding: chunked'], '1\r\n{}\r\n0\r\n\r\n'),
      ],
      ['a blank before the colon', request('GET /healthz', ['X-A : b'])],
      ['a folded header', request('GET /healthz', ['X-A: b', ' c'])],
      ['a control character in a header', request('GET /healthz', ['X-A: b\u0001c'])],
      ['a zero byte in a header', request('GET /healthz', ['X-A: b\0c'])],
      ['a header without a colon', request('GET /healthz', ['nonsense'])],
      ['a bare carriage return between headers', 'GET /healthz HTTP/1.1\rHost: a\r\n\r\n'],
      ['no request at all', 'NONSENSE\r\n\r\n'],
      ['an unknown method', request('FETCH /healthz')],
      ['a method in small letters', request('get /healthz')],
      ['an unknown protocol version', 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n'],
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['the beginning of TLS', Uint8Array.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03)],
    ])('%s', async (_what, text) => {
      await expectClosed(text, 400, 'bad_request')
    })

    it.each([
      ['absolute form', request('GET http://edge.test/healthz')],
      ['absolute form of another host', request('GET http://elsewhere.test/healthz')],
      ['absolute form with https', request('POST https://edge.test/echo')],
      ['authority form', request('GET edge.test:443')],
      ['asterisk form', request('OPTIONS *')],
      ['asterisk form with GET', request('GET *')],
      ['CONNECT', request('CONNECT edge.test:443')],
      ['CONNECT to a path', request('CONNECT /healthz')],
      ['TRACE', request('TRACE /healthz')],
      ['TRACE of an unknown path', request('TRACE /nowhere')],
    ])('target in %s', async (_what, text) => {
      await expectClosed(text, 400, 'bad_request')
    })

    it('HTTP/1.1 without Host', async () => {
      await expectClosed('GET /healthz HTTP/1.1\r\n\r\n', 400, 'bad_request')
    })
  })

  describe('400', () => {
    it.each([
      ['a relative path', request('GET healthz')],
      ['a fragment', request('GET /healthz#top')],
      ['a fragment after the query', request('GET /echo?a=1#top')],
      ['an empty fragment', request('GET /healthz#')],
      ['a tab in the target', request('GET /health\tz')],
      ['a zero byte in the target', request('GET /health\0z')],
      ['an escape character in the target', request('GET /health\u001bz')],
      ['a DEL character in the target', request('GET /health\u007fz')],
      ['a bare blank in the target', request('GET /echo?a= b')],
    ])('%s', async (_what, text) => {
      expectRefused(await once(edge.port, text), 400, 'bad_request')
    })
  })

  describe('431', () => {
    const filler = (count: number): string[] => Array.from({ length: count }, (_, i) => `X-Filler-${i}: a`)

    it('more than 64 headers', async () => {
      expect((await once(edge.port, request('GET /healthz', filler(63)))).status).toBe(200)
      const reply = await once(edge.port, request('GET /healthz', filler(64)))
      expectRefused(reply, 431, 'request_header_fields_too_large')
    })

    it('more than 64 headers on an unknown path', async () => {
      expectRefused(await once(edge.port, request('GET /nowhere', filler(64))), 431, 'request_header_fields_too_large')
    })

    it('more headers than the limit of Node', async () => {
      const reply = await once(
        edge.port,
        request(
          'GET /healthz',
          Array.from({ length: 2500 }, () => 'a: b'),
        ),
      )
      expectRefused(reply, 431, 'request_header_fields_too_large')
    })

    it('a head above 16384 bytes', async () => {
      expect((await once(edge.port, request('GET /healthz', [`X-Long: ${'a'.repeat(15_000)}`]))).status).toBe(200)
      await expectClosed(
        request('GET /healthz', [`X-Long: ${'a'.repeat(20_000)}`]),
        431,
        'request_header_fields_too_large',
      )
    })
  })

  describe('414 or 431', () => {
    it('a target above 16384 bytes', async () => {
      const reply = await once(edge.port, request(`GET /echo?a=${'a'.repeat(20_000)}`))
      const code = reply.status === 414 ? 'request_uri_too_large' : 'request_header_fields_too_large'
      expect([414, 431]).toContain(reply.status)
      expectRefused(reply, reply.status, code)
    })
  })

  describe('200', () => {
    it('ignores Upgrade and responds in HTTP/1.1', async () => {
      const headers = [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Key: eA==',
        'Sec-WebSocket-Version: 13',
      ]
      const reply = await once(edge.port, request('GET /healthz', headers))
      expect([reply.status, reply.json]).toEqual([200, { status: 'ok' }])
      expect(reply.headers.has('upgrade')).toBe(false)
      const h2c = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']
      expect((await once(edge.port, request('GET /healthz', h2c))).status).toBe(200)
    })

    it('responds to requests that arrive together in order', async () => {
      const wire = await Wire.open(edge.port)
      wire.send(
        request('GET /things/1') + request('GET /things/2') + request('POST /echo', ['Content-Length: 7'], '{"a":3}'),
      )
      expect((await wire.reply()).json).toEqual({ name: '1' })
      expect((await wire.reply()).json).toEqual({ name: '2' })
      expect((await wire.reply()).json).toEqual({ read: { a: 3 } })
      wire.end()
    })

    it('responds to HTTP/1.0 and closes', async () => {
      const wire = await Wire.open(edge.port)
      const reply = await wire.send('GET /healthz HTTP/1.0\r\n\r\n').reply()
      expect(reply.status).toBe(200)
      expectSecurityHeaders(reply)
      expect(await wire.closes()).toBe(true)
    })

    it('lets a client wait for 100-continue', async () => {
      const wire = await Wire.open(edge.port)
      wire.send(request('POST /echo', ['Expect: 100-continue', 'Content-Length: 2'], '{}'))
      expect((await wire.reply()).json).toEqual({ read: {} })
      wire.end()
    })
  })

  describe('after any input', () => {
    it('a caller that resets its connection after CONNECT, Expect or broken framing does not end the process', async () => {
      const openings = [
        'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n',
        request('GET /healthz', ['Expect: a miracle']),
        'NONSENSE\r\n\r\n',
      ]
      for (const opening of openings) {
        for (let i = 0; i < 10; i += 1) {
          const wire = await Wire.open(edge.port)
          wire.send(opening)
          await new Promise((resolve) => setTimeout(resolve, 2))
          wire.socket.resetAndDestroy()
        }
      }
      expect((await once(edge.port, request('GET /healthz'))).status).toBe(200)
    })

    it('callers that withhold their bodies do not block others', async () => {
      const wires = await Promise.all(Array.from({ length: 300 }, () => Wire.open(edge.port)))
      for (const wire of wires) wire.send(request('POST /echo', ['Content-Length: 2']))
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect((await once(edge.port, request('GET /echo'))).status).toBe(200)
      for (const wire of wires) wire.end()
    })

    it('an unknown expectation is refused in the envelope', async () => {
      const reply = await once(edge.port, request('GET /healthz', ['Expect: a miracle']))
      expect([400, 417]).toContain(reply.status)
      expect(reply.json).toMatchObject({ error: { details: {}, request_id: reply.headers.get('x-request-id') } })
      expectSecurityHeaders(reply)
    })

    it('a request beyond the 1,000th of a connection is refused in the envelope', async () => {
      const wire = await Wire.open(edge.port)
      // In parts, because a connection with too many queued requests is closed.
      for (let part = 0; part < 10; part += 1) {
        wire.send(request('GET /healthz').repeat(100))
        for (let i = 0; i < 100; i += 1) expect((await wire.reply()).status).toBe(200)
      }
      wire.send(request('GET /healthz'))
      // Closing after the thousandth response is allowed; a response without the envelope is not.
      const last = await wire.reply().catch(() => undefined)
      if (last !== undefined) {
        expect(last.status).toBe(503)
        expectSecurityHeaders(last)
      }
      wire.end()
    })

    it('a caller that closes in the middle of its body leaves no resources in use', async () => {
      for (let i = 0; i < 5; i += 1) {
        const wire = await Wire.open(edge.port)
        wire.send(request('POST /echo', ['Content-Length: 100'], '{"a":'))
        await new Promise((resolve) => setTimeout(resolve, 5))
        wire.end()
      }
      const half = connect({ port: edge.port, host: '127.0.0.1' })
      half.write('GET /heal')
      await new Promise((resolve) => setTimeout(resolve, 5))
      half.resetAndDestroy()
      expect((await once(edge.port, request('GET /healthz'))).status).toBe(200)
    })
  })
})
