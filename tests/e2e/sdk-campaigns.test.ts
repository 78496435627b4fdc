import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { run } from '../campaigns/sdk-outbox.ts'

describe('campaign sdk-outbox', () => {
  it('leaves one record for every action after 8 kills of a program and 2 of its authority', async () => {
    const seed = randomInt(2 ** 32)
    const lines: string[] = []
    const result = await run({ count: 10, seed, log: (line) => lines.push(line) })
    process.stdout.write(`sdk-outbox seed ${seed}\n`)
    expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
    expect(result).toEqual({ cases: 10, violations: 0 })
  }, 180_000)
})
