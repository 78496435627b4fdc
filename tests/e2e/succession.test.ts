import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { run } from '../campaigns/succession.ts'

it('lets a new key take over under load: no valid certificate refused, no invalid one accepted', async () => {
  const seed = randomInt(2 ** 32)
  const lines: string[] = []
  const result = await run({ count: 1, seed, log: (line) => lines.push(line) })
  process.stdout.write(`succession seed ${seed}\n`)
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  expect(result).toEqual({ cases: 1, violations: 0 })
}, 240_000)
