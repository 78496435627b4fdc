import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type Check, askService, ownOrigin, runCheck } from './checks.ts'

describe('a check', () => {
  const run = (find: Check<string, string>['find']): Promise<string> =>
    runCheck({ name: 'name', find }, 'parts', 20, (error) => (error instanceof Error ? error.name : ''))

  it('answers from its parts', async () => {
    expect(await run((parts) => parts)).toBe('parts')
    expect(await run((parts) => Promise.resolve(parts))).toBe('parts')
  })

  it('has the answer of its caller when it fails or takes too long', async () => {
    expect(await run(() => Promise.reject(new TypeError('away')))).toBe('TypeError')
    const fault = (): never => {
      throw new RangeError('a bug')
    }
    expect(await run(fault)).toBe('RangeError')
    expect(await run(() => new Promise<never>(() => undefined))).toBe('TimeLimitError')
  })
})

it.each([
  ['0.0.0.0', 'http://127.0.0.1:80'],
  ['::', 'http://[::1]:80'],
  ['2001:db8::1', 'http://[2001:db8::1]:80'],
  ['localhost', 'http://localhost:80'],
])('asks a service that listens on %s at %s', (host, origin) => {
  expect(ownOrigin({ host, port: 80 })).toBe(origin)
})

it('reads an object, follows no redirect, and accepts no other or larger text', async () => {
  let answer = (_response: ServerResponse): unknown => undefined
  const server = createServer((_request, response) => void answer(response))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = ownOrigin({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  try {
    answer = (response) => response.writeHead(503).end('{"error":{}}')
    expect(await askService(url)).toEqual({ status: 503, body: { error: {} } })
    answer = (response) => response.writeHead(302, { location: url }).end('moved')
    expect(await askService(url)).toEqual({ status: 302, body: undefined })
    answer = (response) => response.end(Buffer.alloc(2_000_000, ' '))
    expect(await askService(url)).toEqual({ status: 200, body: undefined })
    answer = (response) => response.destroy()
    expect(await askService(url)).toBeUndefined()
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
