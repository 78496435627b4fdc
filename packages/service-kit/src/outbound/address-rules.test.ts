import { createServer } from 'node:http'
import type { lookup } from 'node:dns'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressKind, guardedLookup, isCallable } from './address-rules.ts'
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

describe('a name with several addresses, where every one must be allowed', () => {
  const find = (...addresses: string[]) => guardedLookup(isPublic, answering(addresses), { everyAddress: true })

  it('is refused for one that is not allowed', async () => {
    expect(await resolve(find('93.184.216.34', '10.0.0.1'))).not.toBeInstanceOf(Array)
    expect(await resolve(find('93.184.216.34', '2606:2800:220:1::1'))).toHaveLength(2)
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

describe('the kind of an address', () => {
  it.each([
    ['2606:2800:220:1::1', 'public'],
    ['2620:4f:8000::1', 'public'],
    ['::ffff:93.184.216.34', 'public'],
    ['64:ff9b::5db8:d822', 'public'],
    ['2002:5db8:d822::1', 'public'],
    // Local NAT64, where the first bytes after the prefix may be the address: 10.0.0.1.
    ['64:ff9b:1:a00:0:100:808:808', 'never'],
    ['64:ff9b:1::808:808', 'private'],
    ['64:ff9b:1::a9fe:a9fe', 'never'],
    // Benchmarking, protocol assignments, segment routing, not assigned.
    ['2001:2::1', 'never'],
    ['2001:10::1', 'never'],
    ['5f00::1', 'never'],
    ['4000::1', 'never'],
    ['200::1', 'never'],
    ['fd12::1', 'private'],
    ['::1', 'loopback'],
    ['2001:db8::1', 'unused'],
  ])('%s is %s', (address, kind) => {
    expect(addressKind(address)).toBe(kind)
  })
})
