import { type RequestListener, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { FactQuestion } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { openFactSources } from './fact-sources.ts'

// Holds: that only configured origins are asked, and that everything else than a good answer in time is a failure.

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function questionTo(origin: string, path = '/v1/data/app'): FactQuestion {
  const members = { answer: ['result'], revision: undefined, as_of: undefined }
  const asked = { origin, path, body: { input: { a: 1 } }, time_limit_ms: 200, revision: undefined, members }
  return { kind: 'external_fact', digest: 'd', ...asked }
}

const openFor = (...factOrigins: string[]) => openFactSources({ factOrigins, extraRoots: [] }, systemClock)

describe('a source of facts', () => {
  it('gets the question as JSON, and its answer is read', async () => {
    let seen = ''
    const origin = await serve((request, response) => {
      request.on('data', (bytes: Buffer) => (seen += `${request.method} ${request.url} ${bytes.toString()}`))
      request.on('end', () => response.end('{"result":true}'))
    })
    expect(await openFor(origin).ask(questionTo(origin), 'one')).toMatchObject({ kind: 'external_fact', answer: true })
    expect(seen).toBe('POST /v1/data/app {"input":{"a":1}}')
  })

  it.each<[string, RequestListener, string]>([
    ['another status', (_, response) => response.writeHead(500).end('{"result":true}'), 'response_refused'],
    [
      'a redirect',
      (_, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      'response_refused',
    ],
    ['no JSON', (_, response) => response.end('true!'), 'response_refused'],
    ['a name twice', (_, response) => response.end('{"result":false,"result":true}'), 'response_refused'],
    ['a list', (_, response) => response.end('[true]'), 'response_refused'],
    [
      'a long response',
      (_, response) => response.end(`{"result":true,"x":"${'x'.repeat(70_000)}"}`),
      'response_refused',
    ],
    ['silence', () => undefined, 'time_limit'],
    ['a closed connection', (request) => request.socket.destroy(), 'unreachable'],
  ])('fails with %s', async (_name, listener, failure) => {
    const origin = await serve(listener)
    expect(await openFor(origin).ask(questionTo(origin), 'one')).toEqual({ kind: 'none', failure })
  })

  it.each([
    ['an origin that is not configured', 'http://127.0.0.1:9', ['http://127.0.0.1:10'], 'origin_not_allowed'],
    ['a metadata address', 'http://169.254.169.254', ['http://169.254.169.254'], 'unreachable'],
    ['a public address without TLS', 'http://93.184.216.34', ['http://93.184.216.34'], 'unreachable'],
    ['a mapped metadata address', 'http://[::ffff:a9fe:a9fe]', ['http://[::ffff:a9fe:a9fe]'], 'unreachable'],
  ])('is not called at %s', async (_name, origin, configured, failure) => {
    expect(await openFor(...configured).ask(questionTo(origin), 'one')).toEqual({ kind: 'none', failure })
  })

  it('is not left by its path', async () => {
    const origin = await serve((_, response) => response.end('{"result":true}'))
    expect(await openFor(origin).ask(questionTo(origin, '//127.0.0.2/x'), 'one')).toEqual({
      kind: 'none',
      failure: 'origin_not_allowed',
    })
  })

  it('is unreachable with a path that gives no address', async () => {
    const origin = await serve((_, response) => response.end('{"result":true}'))
    expect(await openFor(origin).ask(questionTo(origin, '//['), 'one')).toEqual({
      kind: 'none',
      failure: 'unreachable',
    })
  })

  it('has a bounded number of calls at the same time, and takes none of another source', async () => {
    let [open, most] = [0, 0]
    const slow = await serve((_, response) => {
      open += 1
      most = Math.max(most, open)
      setTimeout(() => {
        open -= 1
        response.end('{"result":true}')
      }, 50)
    })
    const good = await serve((_, response) => response.end('{"result":true}'))
    const sources = openFor(slow, good)
    const asked = { ...questionTo(slow), time_limit_ms: 1000 }
    const many = Array.from({ length: 40 }, (_, n) => sources.ask(asked, `caller ${n % 8}`))
    expect(await sources.ask({ ...questionTo(good), time_limit_ms: 1000 }, 'one')).toMatchObject({ answer: true })
    expect((await Promise.all(many)).every(({ kind }) => kind === 'external_fact')).toBe(true)
    expect(most).toBe(16)
  })

  it('answers a caller while another one keeps more questions open than there are calls', async () => {
    const silent = await serve(() => undefined)
    const sources = openFor(silent)
    const many = Array.from({ length: 140 }, () => sources.ask(questionTo(silent), 'many'))
    const began = performance.now()
    const other = await sources.ask(questionTo(silent), 'other')
    // Its own time limit of 200 ms, without waiting for a call of the other caller.
    expect([other, performance.now() - began < 1500]).toEqual([{ kind: 'none', failure: 'time_limit' }, true])
    const failures = (await Promise.all(many)).map((each) => (each.kind === 'none' ? each.failure : 'answer'))
    // 12 beyond the 128 that may wait are refused at once; the rest of those that waited 2 s are dropped.
    expect([failures.slice(128), failures[0]]).toEqual([Array.from({ length: 12 }, () => 'overloaded'), 'time_limit'])
  })
})
