import { readInstant } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { nextPull } from './store-pull.ts'

const NOW = readInstant('2026-01-02T03:04:05Z') ?? 0n
const wait = (interval: number, failures: number, random: number): number =>
  Number(nextPull(interval, failures, NOW, random) - NOW) / 1_000_000

describe('the time until the next pull', () => {
  it('is the interval plus or minus a tenth', () => {
    expect([wait(300, 0, 0), wait(300, 0, 1)]).toEqual([270, 330])
    expect([wait(86_400, 0, 0), wait(86_400, 0, 1)]).toEqual([77_760, 95_040])
  })

  it('doubles after failures, and is at most the larger of an hour and the interval', () => {
    expect([wait(300, 1, 0.5), wait(300, 2, 0.5)]).toEqual([600, 1200])
    expect([wait(300, 20, 0), wait(300, 20, 1)]).toEqual([3240, 3600])
    expect([wait(86_400, 3, 0), wait(86_400, 3, 1)]).toEqual([77_760, 86_400])
  })
})
