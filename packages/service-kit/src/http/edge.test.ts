// oxlint-disable max-lines -- the rules of the HTTP edge against one table of routes
import { createHash } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ERRORS, Refusal } from '@chancery/contract'
import { readJson } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  KEPT_TEXT,
  LARGE_BYTES,
  Wire,
  expectRefused,
  expectSecurityHeaders,
  once,
  post,
  request,
  startEdge,
} from './test-edge.suite.ts'
import type { Edge } from './test-edge.suite.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the HTTP edge', () => {
  let edge: Edge
  beforeAll(async () => {
    edge = await startEdge({ recordLog: true })
  })
  afterAll(() => edge.stop())
  const send = (line: string, headers: readonly string[] = []) =>
    once(edge.port, request(line, headers), line.split(' ')[0])

  describe('X-Request-ID', () => {
    it.each(['abc', 'A.b_c:d-9', 'x'.repeat(128), '0'])(
      '%s of the caller is echoed, in the header and in the envelope',
      async (id) => {
        const reply = await send('GET /nowhere', [`X-Request-ID: ${id}`])
        expect(reply.headers.get('x-request-id')).toBe(id)
        expectRefused(reply, 404, 'not_found')
      },
    )

    it.each(['a b', 'x'.repeat(129), '<x>', 'a/b', 'ë', 'a,b', ''])('%s is replaced by a UUID', async (id) => {
      const reply = await send('GET /healthz', [`X-Request-ID: ${id}`])
      expect(reply.headers.get('x-request-id')).toMatch(UUID)
    })

    it('sent twice is replaced', async () => {
      const reply = await send('GET /healthz', ['X-Request-ID: a', 'X-Request-ID: b'])
      expect(reply.headers.get('x-request-id')).toMatch(UUID)
    })

    it('is new for every request', async () => {
      const ids = await Promise.all(
        Array.from({ length: 20 }, async () => (await send('GET /healthz')).headers.get('x-request-id')),
      )
      expect(new Set(ids).size).toBe(20)
    })
  })

  describe('security headers', () => {
    it.each([
      'GET /healthz',
      'GET /echo',
      'HEAD /echo',
      'POST /created',
      'GET /page',
      'GET /nowhere',
      'HEAD /nowhere',
      'PUT /echo',
      'OPTIONS /echo',
      'OPTIONS /nowhere',
      'GET /broken',
      'GET /things/%ff',
      'GET /echo?a=%ff',
      'TRACE /echo',
      'PROPFIND /echo',
    ])('are on %s', async (line) => {
      expectSecurityHeaders(await send(line))
    })

    it('do not name the software of the service', async () => {
      for (const line of ['GET /healthz', 'GET /nowhere', 'GET /broken']) {
        const reply = await send(line)
        expect(reply.names).not.toContain('x-powered-by')
        expect(reply.names).not.toContain('server')
        expect(reply.body).not.toMatch(/fastify|node:|\.ts/i)
      }
    })
  })

  describe('answers', () => {
    it('have the status of their route and JSON without a charset', async () => {
      const reply = await post(edge.port, '{}', [], '/created')
      expect([reply.status, reply.headers.get('content-type'), reply.json]).toEqual([
        201,
        'application/json',
        { made: true },
      ])
    })

    it('in HTML have its content type', async () => {
      const reply = await send('GET /page')
      expect([reply.status, reply.headers.get('content-type'), reply.body]).toEqual([
        200,
        'text/html; charset=utf-8',
        '<p>page</p>',
      ])
    })

    it.each(['/echo', '/page', '/kept', '/broken', '/nowhere', '/healthz'])(
      'to HEAD %s are those of GET without the body',
      async (path) => {
        const id = ['X-Request-ID: same']
        const [head, get] = [await send(`HEAD ${path}`, id), await send(`GET ${path}`, id)]
        const withoutDate = (reply: typeof head) => [...reply.headers].filter(([name]) => name !== 'date').sort()
        expect(head.status).toBe(get.status)
        expect(withoutDate(head)).toEqual(withoutDate(get))
        expect(head.body).toBe('')
      },
    )
  })

  describe('405', () => {
    it.each([
      ['POST /healthz', ['GET', 'HEAD', 'OPTIONS']],
      ['PUT /echo', ['GET', 'HEAD', 'OPTIONS', 'POST']],
      ['PATCH /echo', ['GET', 'HEAD', 'OPTIONS', 'POST']],
      ['GET /created', ['OPTIONS', 'POST']],
      ['HEAD /created', ['OPTIONS', 'POST']],
      ['POST /things/a', ['DELETE', 'GET', 'HEAD', 'OPTIONS']],
      ['DELETE /keys/a/b', ['GET', 'HEAD', 'OPTIONS']],
      ['PROPFIND /page', ['GET', 'HEAD', 'OPTIONS']],
    ])('%s lists the allowed methods', async (line, methods) => {
      const reply = await send(line)
      if (line.startsWith('HEAD')) expect(reply.status).toBe(405)
      else expectRefused(reply, 405, 'method_not_allowed')
      expect(reply.headers.get('allow')?.split(', ').sort()).toEqual(methods)
    })
  })

  describe('404', () => {
    it.each([
      'GET /nowhere',
      'POST /nowhere',
      'DELETE /nowhere',
      'PUT /nowhere',
      'OPTIONS /nowhere',
      'PROPFIND /nowhere',
      'GET /echo/',
    ])('%s', async (line) => {
      expectRefused(await send(line), 404, 'not_found')
    })
  })

  describe('OPTIONS', () => {
    it.each([
      ['/healthz', ['GET', 'HEAD', 'OPTIONS']],
      ['/echo', ['GET', 'HEAD', 'OPTIONS', 'POST']],
      ['/things/x', ['DELETE', 'GET', 'HEAD', 'OPTIONS']],
    ])('%s is 204 with Allow and no body', async (path, methods) => {
      const reply = await send(`OPTIONS ${path}`)
      expect([reply.status, reply.body, reply.headers.get('content-type')]).toEqual([204, '', undefined])
      expect(reply.headers.get('allow')?.split(', ').sort()).toEqual(methods)
    })

    it('sends no CORS headers', async () => {
      const reply = await send('OPTIONS /echo', ['Origin: https://evil.test', 'Access-Control-Request-Method: POST'])
      expect(reply.names.filter((name) => name.startsWith('access-control'))).toEqual([])
    })
  })

  describe('documents with an ETag', () => {
    it('carry a strong tag over their exact bytes and their own caching rule', async () => {
      const reply = await send('GET /kept')
      expect([reply.status, reply.body, reply.headers.get('content-type')]).toEqual([
        200,
        KEPT_TEXT,
        'application/json',
      ])
      expect(reply.headers.get('etag')).toMatch(/^"[^"]+"$/)
      expectSecurityHeaders(reply, 'public, max-age=30, must-revalidate')
      const digest = createHash('sha256').update(Buffer.from(KEPT_TEXT)).digest('base64url')
      expect(reply.headers.get('etag')).toBe(`"${digest}"`)
    })

    it('are 304 without body for a reader that has them', async () => {
      const etag = (await send('GET /kept')).headers.get('etag') ?? ''
      for (const value of [etag, `W/${etag}`, `"other", ${etag}`, `"other",${etag} , "third"`, '*']) {
        const reply = await send('GET /kept', [`If-None-Match: ${value}`])
        expect([reply.status, reply.body, reply.headers.get('etag')], value).toEqual([304, '', etag])
        expectSecurityHeaders(reply, 'public, max-age=30, must-revalidate')
      }
      expect((await send('HEAD /kept', [`If-None-Match: ${etag}`])).status).toBe(304)
    })

    it('are sent to a reader with another version', async () => {
      for (const value of [
        '"other"',
        'W/"other"',
        '',
        (await send('GET /kept')).headers.get('etag')?.slice(1, -1) ?? '',
      ]) {
        expect((await send('GET /kept', [`If-None-Match: ${value}`])).status, value).toBe(200)
      }
    })

    it('do not change how other routes handle If-None-Match', async () => {
      expect((await send('GET /echo', ['If-None-Match: *'])).status).toBe(200)
    })
  })

  describe('500', () => {
    it('does not expose the cause, and logs it once with the request id', async () => {
      const before = edge.logged.length
      const reply = await send('GET /broken', ['X-Request-ID: find-me'])
      expectRefused(reply, 500, 'internal_server_error')
      expect(reply.json).toMatchObject({ error: { message: 'Unexpected error.', details: {} } })
      expect(reply.body).not.toMatch(/canary|TypeError| at /)
      const lines = edge.logged.slice(before)
      expect(lines).toHaveLength(1)
      expect(lines[0]).toMatchObject({ level: 'error', request_id: 'find-me', route: 'GET /broken' })
      expect(JSON.stringify(lines[0])).toContain('canary-cause')
    })

    it('is not logged for a known refusal', async () => {
      const before = edge.logged.length
      expectRefused(await send('GET /nowhere'), 404, 'not_found')
      expectRefused(await post(edge.port, '{'), 400, 'invalid_json')
      expect(edge.logged.slice(before).filter((line) => line['level'] === 'error' || line['level'] === 'warn')).toEqual(
        [],
      )
    })

    it('of a path without a route has the code of its prefix', async () => {
      const own = await startEdge({ missing: { prefix: '/nested/', code: 'asset_not_found' } })
      for (const path of ['/nested/other', '/nested/..%2fpackage.json', '/nested/'])
        expectRefused(await once(own.port, request(`GET ${path}`)), 404, 'asset_not_found')
      expectRefused(await once(own.port, request('GET /nested')), 404, 'not_found')
      expectRefused(await once(own.port, request('GET /nested/%00')), 400, 'bad_request')
      expectRefused(await once(own.port, request('PUT /nested/static')), 405, 'method_not_allowed')
      await own.stop()
    })

    it('is a 503 when the service translates the failure to a refusal', async () => {
      const own = await startEdge({ translate: () => new Refusal('service_unavailable', { reason: 'x' }) })
      const reply = await once(own.port, request('GET /broken'))
      expectRefused(reply, 503, 'service_unavailable')
      expect(reply.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/)
      await own.stop()
    })

    it('is logged when the service failed, and not when the caller caused it', async () => {
      for (const [refusal, lines] of [
        [new Refusal('service_unavailable', { reason: 'x' }), 1],
        [new Refusal('too_many_verifications'), 0],
      ] as const) {
        const own = await startEdge({ translate: () => refusal, recordLog: true })
        await once(own.port, request('GET /broken'))
        expect(own.logged.length, refusal.code).toBe(lines)
        await own.stop()
      }
    })
  })

  describe('429', () => {
    it('has Retry-After: 60 and comes after the size check and before the JSON parser', async () => {
      const refusing = {
        limit: () => Promise.reject(new Refusal('rate_limit_exceeded')),
        screen: () => Promise.reject(new Error('never')),
        authorize: () => Promise.reject(new Error('never')),
      }
      const own = await startEdge({ guard: refusing, maxRequestBytes: 10 })
      const reply = await post(own.port, '{')
      expectRefused(reply, 429, 'rate_limit_exceeded')
      expect(reply.headers.get('retry-after')).toBe('60')
      expectRefused(await post(own.port, 'x'.repeat(11)), 413, 'request_entity_too_large')
      expectRefused(await once(own.port, request('GET /echo?a=%ff')), 400, 'bad_request')
      expectRefused(await once(own.port, request('GET /nowhere')), 404, 'not_found')
      await own.stop()
    })
  })

  describe('the guard', () => {
    it('runs after the body is parsed and before the handler', async () => {
      const own = await startEdge({
        guard: {
          limit: async () => undefined,
          screen: () => undefined,
          authorize: () => Promise.reject(new Refusal('forbidden')),
        },
      })
      expectRefused(await post(own.port, '{'), 400, 'invalid_json')
      expectRefused(await post(own.port, '{}'), 403, 'forbidden')
      expectRefused(await once(own.port, request('GET /broken')), 403, 'forbidden')
      await own.stop()
    })
  })

  describe('every response', () => {
    it('is observed once with its route and status', async () => {
      const own = await startEdge()
      await once(own.port, request('GET /healthz'))
      await once(own.port, request('GET /broken'))
      await once(own.port, request('PUT /echo'))
      await once(own.port, request('GET /kept', ['If-None-Match: *']))
      await post(own.port, '{', [], '/created')
      const { length } = own.observed
      expect(length).toBe(5)
      expect(
        own.observed.map(({ route, status }) =>
          route === 'GET /kept' ? `${route} ${status === 304 || status === 200}` : `${route} ${status}`,
        ),
      ).toEqual(['GET /healthz 200', 'GET /broken 500', 'none 405', 'GET /kept true', 'POST /created 400'])
      await own.stop()
    })

    it('has a code of the contract', async () => {
      const codes = ['GET /nowhere', 'PUT /echo', 'GET /broken', 'TRACE /echo'].map(async (line) => {
        const { error } = readJson((await send(line)).body) as { error: { code: string } }
        return error.code
      })
      for (const code of await Promise.all(codes)) expect(Object.keys(ERRORS)).toContain(code)
    })
  })

  describe('503', () => {
    it('refuses the 257th concurrent request with Retry-After, still serves health, and releases slots', async () => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      let holding = 0
      const own = await startEdge({
        hold: () => {
          holding += 1
          return held
        },
      })
      // Several addresses, because one address alone never gets all slots.
      const shares = [128, 64, 32, 16, 8, 4, 2, 1, 1]
      const froms = shares.flatMap((count, index) => Array<string>(count).fill(`127.0.0.${index + 1}`))
      const wires: Wire[] = []
      for (const from of froms) wires.push(await Wire.open(own.port, from))
      for (const [index, wire] of wires.entries()) {
        wire.send(request('GET /hold'))
        while (holding <= index) await pause(1)
      }
      // A path without a route uses no slot, so its response is still 404.
      expectRefused(await once(own.port, request('GET /nowhere')), 404, 'not_found')
      for (const line of ['GET /hold', 'GET /echo', 'POST /created']) {
        const reply = await once(own.port, request(line))
        expectRefused(reply, 503, 'service_unavailable')
        expect(reply.headers.get('retry-after'), line).toMatch(/^[1-9][0-9]*$/)
      }
      expect((await once(own.port, request('GET /healthz'))).status).toBe(200)
      release()
      const answers = await Promise.all(wires.map((wire) => wire.reply()))
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]))
      expect((await once(own.port, request('GET /hold'))).status).toBe(200)
      for (const wire of wires) wire.end()
      await own.stop()
    })
  })
})

describe('draining', () => {
  /** A client that sends on one connection until the server announces that it closes. */
  async function sendUntilClosed(port: number, sent: { count: number }): Promise<string | undefined> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    try {
      for (;;) {
        const connection = await new Promise<string | undefined>((resolve, reject) => {
          const call = httpRequest({ port, host: '127.0.0.1', path: '/echo', agent }, (answer) => {
            answer.resume()
            answer.on('end', () =>
              answer.statusCode === 200
                ? resolve(answer.headers.connection)
                : reject(new Error(String(answer.statusCode))),
            )
            answer.on('error', reject)
          })
          call.on('error', reject)
          call.end()
        })
        sent.count += 1
        if (connection === 'close') return connection
      }
    } finally {
      agent.destroy()
    }
  }

  it('completes all requests of keep-alive clients', async () => {
    const edge = await startEdge()
    const sent = { count: 0 }
    const clients = Array.from({ length: 20 }, () => sendUntilClosed(edge.port, sent))
    while (sent.count < 200) await pause(5)
    await edge.stop()
    await expect(Promise.all(clients)).resolves.toEqual(Array<string>(20).fill('close'))
  })

  it('closes keep-alive connections before it stops listening', async () => {
    const edge = await startEdge()
    const kept = await Wire.open(edge.port)
    kept.send(request('GET /echo'))
    expect((await kept.reply()).headers.get('connection')).not.toBe('close')
    edge.server.stopKeepAlive()
    kept.send(request('GET /echo'))
    const last = await kept.reply()
    expect([last.status, last.headers.get('connection')]).toEqual([200, 'close'])
    // New connections are still accepted, for one request each.
    const late = await Wire.open(edge.port)
    late.send(request('GET /echo'))
    const reply = await late.reply()
    expect([reply.status, reply.headers.get('connection')]).toEqual([200, 'close'])
    await edge.stop()
  })

  it('completes open requests, also long ones, and a request that arrives meanwhile', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: atWork, resolve: begun } = Promise.withResolvers<void>()
    const edge = await startEdge({
      hold: () => {
        begun()
        return held
      },
    })
    const [slow, idle] = [await Wire.open(edge.port), await Wire.open(edge.port)]
    slow.send(request('GET /hold'))
    await atWork
    let stopped = false
    const stopping = edge.stop().then(() => {
      stopped = true
    })
    await pause(100)
    idle.send(request('GET /echo'))
    const late = await idle.reply()
    expect([late.status, late.headers.get('connection')]).toEqual([200, 'close'])
    await pause(700)
    expect(stopped).toBe(false)
    release()
    const reply = await slow.reply()
    expect([reply.status, reply.json, reply.headers.get('connection')]).toEqual([200, { held: true }, 'close'])
    await stopping
    await expect(Wire.open(edge.port)).rejects.toThrow('ECONNREFUSED')
  })

  it('accepts no new connection from the start of draining', async () => {
    const edge = await startEdge()
    const stopping = edge.stop()
    await expect(Wire.open(edge.port)).rejects.toThrow('ECONNREFUSED')
    await stopping
  })

  it('completes a large response to a slow reader', async () => {
    const edge = await startEdge()
    const wire = await Wire.open(edge.port)
    wire.socket.pause()
    wire.send(request('GET /large'))
    await pause(100)
    const stopping = edge.stop()
    await pause(800)
    wire.socket.resume()
    const reply = await wire.reply('GET', 5000)
    expect([reply.status, reply.body.length]).toEqual([200, LARGE_BYTES])
    wire.end()
    await stopping
  })

  it('does not wait for idle connections', async () => {
    const edge = await startEdge()
    const idle = await Wire.open(edge.port)
    const half = await Wire.open(edge.port)
    half.send('GET /echo HTTP/1.1\r\nHo')
    const started = performance.now()
    await edge.stop()
    expect(performance.now() - started).toBeLessThan(2000)
    expect([await idle.closes(), await half.closes()]).toEqual([true, true])
  })
})
