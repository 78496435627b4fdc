import { once } from 'node:events'
import { route } from '@chancery/contract'
import { afterEach, describe, expect, it } from 'vitest'
import { type Call, clientAddress, forwardedEntry, limitAddress } from './call.ts'
import { type Edge, Wire, request, startEdge } from './test-edge.suite.ts'
import fc from 'fast-check'

const WORK = route('GET /work', {
  access: 'public',
  limit: 'public',
  stability: 'internal',
  success: 200,
  response: 'json',
  summary: 'Work',
  purpose: 'Works.',
})

let edge: Edge

/** Begins a call whose handler waits for `work`. */
async function begin(work: Promise<void>): Promise<{ readonly caller: Wire; readonly call: Call }> {
  const { promise, resolve } = Promise.withResolvers<Call>()
  const handle = (call: Call): Promise<{ readonly done: true }> => {
    resolve(call)
    return work.then(() => ({ done: true }))
  }
  edge = await startEdge({ bindings: [{ route: WORK, handle }] })
  const caller = await Wire.open(edge.port)
  caller.send(request('GET /work'))
  return { caller, call: await promise }
}

describe('the signal of a call', () => {
  afterEach(() => edge.stop())

  it('ends when the caller leaves', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { caller, call } = await begin(promise)
    expect(call.signal.aborted).toBe(false)
    caller.socket.destroy()
    await once(call.signal, 'abort')
    resolve()
  })

  it('ends with the response, also on a connection that stays open', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { caller, call } = await begin(promise)
    const ended = once(call.signal, 'abort')
    resolve()
    expect((await caller.reply()).status).toBe(200)
    await ended
    expect(caller.isClosed).toBe(false)
    caller.socket.destroy()
  })

  it('has ended when it is first read after the response', async () => {
    const { caller, call } = await begin(Promise.resolve())
    expect((await caller.reply()).status).toBe(200)
    await expect.poll(() => call.signal.aborted).toBe(true)
    caller.socket.destroy()
  })
})

const PEER = '10.0.0.1'

describe('clientAddress', () => {
  it.each<[string, string | undefined, number, string]>([
    ['no hops: the header proves nothing', '192.0.2.1', 0, PEER],
    ['one hop: the last entry', '198.51.100.9, 192.0.2.1', 1, '192.0.2.1'],
    ['two hops: the last but one', '203.0.113.5, 198.51.100.9, 192.0.2.1', 2, '198.51.100.9'],
    ['all hops used', '198.51.100.9, 192.0.2.1', 2, '198.51.100.9'],
    ['fewer entries than hops', '192.0.2.1', 2, PEER],
    ['no header', undefined, 1, PEER],
    ['an empty header', '', 1, PEER],
    ['an empty entry', '192.0.2.1,', 1, PEER],
    ['only commas', ',,,', 2, PEER],
    ['a name', 'unknown', 1, PEER],
    ['an address with a port', '192.0.2.1:443', 1, PEER],
    ['brackets', '[2001:db8::1]', 1, PEER],
    ['a zone', 'fe80::1%eth0', 1, PEER],
    ['an octal-looking address', '192.0.02.1', 1, PEER],
    ['a short address', '192.0.1', 1, PEER],
    ['too many groups', '1:2:3:4:5:6:7:8:9', 1, PEER],
    ['two gaps', '1::2::3', 1, PEER],
    ['an injected line', '192.0.2.1\r\nX: y', 1, PEER],
    ['no spaces', '198.51.100.9,192.0.2.1', 1, '192.0.2.1'],
    ['tabs and spaces', '198.51.100.9,\t 192.0.2.1 \t', 1, '192.0.2.1'],
    ['a mapped address', '::ffff:192.0.2.1', 1, '192.0.2.1'],
    ['a mapped address in hex', '::FFFF:c000:201', 1, '192.0.2.1'],
    ['a mapped address written out', '0:0:0:0:0:ffff:192.0.2.1', 1, '192.0.2.1'],
    ['an almost mapped address', '::fffe:192.0.2.1', 1, '::fffe:c000:201'],
    ['IPv6 in its normal form', '2001:0DB8:0:0:1:0:0:1', 1, '2001:db8::1:0:0:1'],
  ])('%s', (_name, header, hops, address) => {
    expect(clientAddress(PEER, header, hops)).toBe(address)
  })

  it.each([
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['FE80::1', 'fe80::1'],
    ['', ''],
    ['/run/socket', '/run/socket'],
  ])('writes the peer %s as %s', (peer, address) => {
    expect(clientAddress(peer, undefined, 0)).toBe(address)
  })

  it('ignores entries that a caller adds in front', () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), fc.ipV4(), (forged, caller, proxy) => {
        expect(clientAddress(PEER, `${forged}, ${caller}, ${proxy}`, 2)).toBe(caller)
      }),
    )
  })

  it('takes linear time for a header full of commas', () => {
    const started = performance.now()
    expect(clientAddress(PEER, ','.repeat(1_000_000), 999_999)).toBe(PEER)
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe('limitAddress', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8::/64'],
    ['2001:db8:0:1::9', '2001:db8:0:1::/64'],
    ['::1', '::/64'],
    ['::', '::/64'],
    ['1:0:0:4:5:6:7:8', '1:0:0:4::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['', ''],
    ['/run/socket', '/run/socket'],
  ])('%s counts as %s', (address, key) => {
    expect(limitAddress(address)).toBe(key)
  })

  it('gives every spelling of every address in a /64 one key, and other addresses another key', () => {
    const group = fc.nat(0xffff)
    const groups = fc.tuple(group, group, group, group, group, group, group, group)
    fc.assert(
      fc.property(groups, groups, fc.boolean(), (one, other, upper) => {
        const written = one.map((value) => value.toString(16).padStart(4, '0')).join(':')
        const neighbour = [...one.slice(0, 4), ...other.slice(4)].map((value) => value.toString(16)).join(':')
        const key = limitAddress(upper ? written.toUpperCase() : written)
        // A mapped address is an IPv4 address and has no neighbours.
        fc.pre(key.endsWith('/64') && limitAddress(neighbour).endsWith('/64'))
        expect(limitAddress(neighbour)).toBe(key)
        const samePrefix = other.slice(0, 4).join() === one.slice(0, 4).join()
        expect(limitAddress(other.map((value) => value.toString(16)).join(':')) === key).toBe(samePrefix)
      }),
    )
  })

  it('keeps the value of an address while normalising it', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const normal = clientAddress(address, undefined, 0)
        expect(clientAddress(normal, undefined, 0)).toBe(normal)
        if (normal.includes(':')) expect(new URL(`http://[${address}]/`).hostname).toBe(`[${normal}]`)
      }),
    )
  })
})

describe('forwardedEntry', () => {
  it.each<[string | undefined, number, string | undefined]>([
    ['https', 1, 'https'],
    ['http, https', 1, 'https'],
    ['http, https', 2, 'http'],
    ['http, https', 3, undefined],
    [',b', 2, ''],
    [',b', 3, undefined],
    ['', 1, ''],
    ['', 2, undefined],
    ['a', 0, undefined],
    [undefined, 1, undefined],
  ])('of %j the %d. is %j', (list, hops, entry) => {
    expect(forwardedEntry(list, hops)).toBe(entry)
  })

  it('agrees with splitting', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('', 'a', 'bc', ' d ')), fc.integer({ min: 1, max: 8 }), (entries, hops) => {
        expect(forwardedEntry(entries.join(','), hops)).toBe(entries.join(',').split(',').at(-hops)?.trim())
      }),
    )
  })
})
