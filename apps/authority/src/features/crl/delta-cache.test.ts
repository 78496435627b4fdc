import { CachedDocument } from '@chancery/service-kit'
import { describe, expect, it } from 'vitest'
import { type ComputedDelta, DeltaCache } from './delta-cache.ts'

const documentOf = (size: number): CachedDocument => new CachedDocument(new Uint8Array(size), 'no-store')
const list = documentOf(100)

/** Holds the event loop as a large delta does. */
function hold(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('DeltaCache', () => {
  it('an address that asks for many large deltas does not hold up another one', async () => {
    const cache = new DeltaCache()
    const order: string[] = []
    const ask = (from: number, address: string): Promise<ComputedDelta> =>
      cache.read(list, from, address, async () => {
        hold(20)
        order.push(address)
        return 'none'
      })
    const many = [1, 2, 3, 4].map((from) => ask(from, 'attacker'))
    await Promise.all([ask(5, 'reader'), ask(6, 'another')])
    expect(order).toEqual(['attacker', 'reader', 'another'])
    await Promise.all(many)
  })

  it('numbers without a delta take no place of deltas', async () => {
    const cache = new DeltaCache()
    for (let from = 0; from < 5000; from += 1) await cache.read(list, from, `address ${from}`, async () => 'none')
    let computed = 0
    const ask = (): Promise<ComputedDelta> =>
      cache.read(list, 9000, 'reader', async () => {
        computed += 1
        return documentOf(10)
      })
    expect(await ask()).toBe(await ask())
    expect(computed).toBe(1)
  })

  it('large deltas leave room for small ones, and the memory of all is limited', async () => {
    const cache = new DeltaCache()
    const computed: number[] = []
    const ask = (from: number, size: number): Promise<ComputedDelta> =>
      cache.read(list, from, `address ${from}`, async () => {
        computed.push(from)
        return documentOf(size)
      })
    for (let round = 0; round < 2; round += 1) {
      for (let from = 0; from < 6; from += 1) await ask(from, 4_000_000)
      await ask(100, 1000)
    }
    // Three fit; the others are computed again.
    expect(computed).toEqual([0, 1, 2, 3, 4, 5, 100, 3, 4, 5])
  })

  it('deltas end with their list', async () => {
    const cache = new DeltaCache()
    const ask = (of: CachedDocument): Promise<ComputedDelta> => cache.read(of, 1, 'reader', async () => documentOf(10))
    expect(await ask(list)).toBe(await ask(list))
    expect(await ask(documentOf(200))).not.toBe(await ask(list))
  })
})
