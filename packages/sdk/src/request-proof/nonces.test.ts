import { seconds } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { MemoryNonceStore } from './nonces.ts'

const at = (second: number): bigint => seconds(second)

describe('the memory of nonces', () => {
  it('takes each once, and again when it would be stale anyway', () => {
    const nonces = new MemoryNonceStore()
    expect(nonces.claim(`a n`, at(160), at(100))).toBe(true)
    expect(nonces.claim(`a n`, at(160), at(160))).toBe(false)
    expect(nonces.claim(`b n`, at(160), at(160))).toBe(true)
  })

  it('brings no spent proof back when the clock is turned back', () => {
    const nonces = new MemoryNonceStore()
    nonces.claim(`a n`, at(160), at(100))
    // Here the first is purged.
    nonces.claim(`a later`, at(300), at(240))
    expect(() => nonces.claim(`a n`, at(160), at(110))).toThrow('moved back')
  })

  it('refuses when it is full, and lets no single node fill it', () => {
    const nonces = new MemoryNonceStore(16)
    const names = Array.from({ length: 16 }, (_, index) => `n${index}`)
    const claimed: string[] = []
    expect(() => {
      for (const name of names) if (nonces.claim(`greedy ${name}`, at(160), at(100))) claimed.push(name)
    }).toThrow('too many proofs')
    expect(claimed.length).toBeLessThan(16)
    expect(nonces.claim(`other n`, at(160), at(100))).toBe(true)
    // Room again as soon as the old ones are stale.
    expect(nonces.claim(`greedy new`, at(260), at(200))).toBe(true)
    expect(() => {
      for (let index = 0; index < 17; index += 1) nonces.claim(`node ${index} n`, at(260), at(200))
    }).toThrow('too many proofs')
  })

  it('keeps room for others when several nodes ask for all they can get', () => {
    const nonces = new MemoryNonceStore(1024)
    const greedy = Array.from({ length: 8 }, (_, index) => `greedy ${index}`)
    for (const node of greedy) {
      const fill = (): void => {
        for (let index = 0; index < 1024; index += 1) nonces.claim(`${node} n${index}`, at(160), at(100))
      }
      expect(fill).toThrow('too many proofs')
    }
    expect(nonces.claim(`modest n`, at(160), at(100))).toBe(true)
    expect(nonces.claim(`modest m`, at(160), at(100))).toBe(true)
  })
})
