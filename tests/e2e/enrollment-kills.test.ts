import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { run } from '../campaigns/enrollment-kills.ts'

describe('campaign enrollment-kills', () => {
  it('finds everything acknowledged, and nothing by half, after 10 kills', async () => {
    const seed = randomInt(2 ** 32)
    const lines: string[] = []
    const result = await run({ count: 10, seed, log: (line) => lines.push(line) })
    process.stdout.write(`enrollment-kills seed ${seed}\n`)
    expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
    expect(result).toEqual({ cases: 10, violations: 0 })
  }, 180_000)
})
