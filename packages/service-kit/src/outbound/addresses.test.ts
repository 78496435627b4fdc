import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { addressKind } from './address-rules.ts'
import { callUrl } from './call-url.ts'

const answers = vi.hoisted(() => ({ addresses: [] as { address: string; family: number }[] }))
vi.mock('node:dns', () => ({
  lookup: (_name: string, _options: unknown, done: (error: null, found: unknown) => void) =>
    done(null, answers.addresses),
}))

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

describe('a name with several addresses', () => {
  const server = createServer((_request, response) => response.end('{}'))
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  const call = (rules: Partial<Parameters<typeof callUrl>[0]>) =>
    callUrl({
      url: new URL(`http://name.example:${(server.address() as AddressInfo).port}/`),
      timeoutMs: 5000,
      maxBytes: 100,
      ...rules,
    })
  const onlyLoopback = (address: string): boolean => addressKind(address) === 'loopback'

  it('is refused where addresses are chosen and one of them may not be called', async () => {
    answers.addresses = [{ address: '127.0.0.1', family: 4 }]
    expect((await call({ isAllowed: onlyLoopback })).status).toBe(200)
    answers.addresses = [
      { address: '127.0.0.1', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ]
    await expect(call({ isAllowed: onlyLoopback })).rejects.toMatchObject({ kind: 'unreachable' })
  })

  it('is otherwise called at the allowed one', async () => {
    answers.addresses = [
      { address: '169.254.169.254', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]
    expect((await call({ allowPrivate: true })).status).toBe(200)
  })
})
