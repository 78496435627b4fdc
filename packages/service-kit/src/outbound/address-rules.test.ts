import { createServer } from 'node:http'
import type { lookup } from 'node:dns'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { guardedLookup, isCallable } from './address-rules.ts'
import { callForBlocks } from './call-url.ts'

/** A name server that gives another answer each time. */
function answering(...answers: readonly (readonly string[])[]): typeof lookup {
  let at = 0
  return ((_name: string, _options: object, done: (error: null, found: object[]) => void) => {
    const found = answers[Math.min(at, answers.length - 1)] ?? []
    at += 1
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as typeof lookup
}

function resolve(find: ReturnType<typeof guardedLookup>): Promise<unknown> {
  return new Promise((done) =>
    find('partner.example', { all: true }, (error, found) => done(error === null ? found : error.code)),
  )
}
const isPublic = (address: string): boolean => isCallable(address, false)

describe('a name that resolves to another address later', () => {
  it('is checked at every connection', async () => {
    const find = guardedLookup(isPublic, answering(['93.184.216.34'], ['127.0.0.1'], ['169.254.169.254']))
    expect(await resolve(find)).toEqual([{ address: '93.184.216.34', family: 4 }])
    expect(await resolve(find)).not.toBeInstanceOf(Array)
    expect(await resolve(find)).not.toBeInstanceOf(Array)
  })

  it('gets only the allowed ones of several addresses', async () => {
    const find = guardedLookup(isPublic, answering(['10.0.0.1', '93.184.216.34', '::ffff:127.0.0.1', '::1']))
    expect(await resolve(find)).toEqual([{ address: '93.184.216.34', family: 4 }])
  })
})

describe('callForBlocks with allowed addresses', () => {
  let connections = 0
  const server = createServer((_request, response) => response.end('{}'))
  server.on('connection', () => (connections += 1))
  beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)))
  afterAll(() => new Promise<void>((done) => server.close(() => done())))
  const call = (host: string, isAllowed: (address: string) => boolean): ReturnType<typeof callForBlocks> =>
    callForBlocks({
      url: new URL(`http://${host}:${(server.address() as AddressInfo).port}/`),
      timeoutMs: 5000,
      maxBytes: 100,
      isAllowed,
    })

  it('opens no connection to another address, by name or literal', async () => {
    for (const host of ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]'])
      await expect(call(host, () => false)).rejects.toMatchObject({ kind: 'unreachable' })
    expect(connections).toBe(0)
    expect((await call('127.0.0.1', () => true)).status).toBe(200)
  })
})
