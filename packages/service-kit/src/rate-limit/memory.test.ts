import { describe, expect, it } from 'vitest'
import { MemoryLimiter } from './memory.ts'

function start(maxKeys?: number) {
  const time = { ms: 0 }
  const clock = { monotonicMs: () => time.ms }
  return { time, limiter: maxKeys === undefined ? new MemoryLimiter(clock) : new MemoryLimiter(clock, maxKeys) }
}

describe('MemoryLimiter', () => {
  it('counts each bucket separately', async () => {
    const { limiter } = start()
    expect([await limiter.hit('a', 1), await limiter.hit('a', 1), await limiter.hit('b', 1)]).toEqual([
      true,
      false,
      true,
    ])
  })

  it('counts only failures when the caller counts failures only', async () => {
    const { limiter, time } = start()
    for (let failure = 0; failure < 3; failure += 1) {
      expect(await limiter.isOver('login', 3)).toBe(false)
      expect(await limiter.hit('login', 3)).toBe(true)
    }
    expect(await limiter.isOver('login', 3)).toBe(true)
    time.ms = 60_000
    expect(await limiter.isOver('login', 3)).toBe(false)
  })

  it('gives the hits in the window', async () => {
    const { limiter, time } = start()
    expect(await limiter.used('a')).toBe(0)
    await limiter.hit('a', 5)
    await limiter.hit('a', 5)
    expect(await limiter.used('a')).toBe(2)
    time.ms = 60_000
    expect([await limiter.used('a'), await limiter.used('b')]).toEqual([0, 0])
  })

  it('stores no key that was only checked', async () => {
    const { limiter } = start()
    expect(await limiter.isOver('a', 1)).toBe(false)
    expect(limiter.size).toBe(0)
  })

  it('drops idle keys and keeps used ones', async () => {
    const { limiter, time } = start()
    await limiter.hit('early', 1)
    time.ms = 30_000
    await limiter.hit('late', 1)
    time.ms = 60_000
    await limiter.hit('now', 1)
    expect(limiter.size).toBe(2)
    expect(await limiter.isOver('late', 1)).toBe(true)
  })

  it('drops many idle keys over the next hits', async () => {
    const { limiter, time } = start()
    for (let key = 0; key < 100; key += 1) await limiter.hit(`key ${key}`, 1)
    time.ms = 60_000
    for (let hit = 0; hit < 10; hit += 1) await limiter.hit('one', 100)
    expect(limiter.size).toBe(1)
  })

  it('keeps an old key that is used again', async () => {
    const { limiter, time } = start()
    await limiter.hit('steady', 3)
    time.ms = 1000
    await limiter.hit('other', 3)
    time.ms = 30_000
    await limiter.hit('steady', 3)
    time.ms = 61_500
    await limiter.hit('new', 3)
    expect(limiter.size).toBe(2)
    expect(await limiter.hit('steady', 2)).toBe(true)
    expect(await limiter.hit('steady', 2)).toBe(false)
  })

  it('stores at most its number of keys, and drops the oldest', async () => {
    const { limiter } = start(3)
    for (const key of ['a', 'b', 'c']) await limiter.hit(key, 2)
    await limiter.hit('a', 2)
    await limiter.hit('d', 2)
    expect(limiter.size).toBe(3)
    expect(await limiter.isOver('a', 2)).toBe(true)
    expect(await limiter.isOver('b', 1)).toBe(false)
    expect(await limiter.isOver('c', 1)).toBe(true)
  })

  it('drops keys in the order of their last hit, whatever the order of the hits', async () => {
    const { limiter } = start(8)
    let stored: string[] = []
    for (let hit = 0; hit < 2000; hit += 1) {
      const key = `key ${(hit * hit + (hit >> 3)) % 13}`
      await limiter.hit(key, 5000)
      stored = [...stored.filter((other) => other !== key), key].slice(-8)
      const used = await Promise.all(Array.from({ length: 13 }, async (_, n) => limiter.used(`key ${n}`)))
      expect(used.flatMap((count, n) => (count > 0 ? [`key ${n}`] : [])).sort()).toEqual([...stored].sort())
    }
  })

  it('stores at most 100,000 keys', async () => {
    const { limiter } = start()
    for (let key = 0; key < 100_010; key += 1) await limiter.hit(`key ${key}`, 1)
    expect(limiter.size).toBe(100_000)
  })

  it('can always count', async () => {
    const { limiter } = start()
    await expect(limiter.probe()).resolves.toBeUndefined()
    expect(limiter.name).toBe('memory')
    await limiter.hit('a', 1)
    await limiter.close()
    expect(limiter.size).toBe(0)
  })
})
