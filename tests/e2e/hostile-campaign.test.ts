import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { run } from '../campaigns/hostile.ts'

const COUNT = 300

it(`hostile: ${COUNT} attacks leave nothing behind, and others are served meanwhile`, async () => {
  const seed = randomInt(2 ** 32)
  // Printed always: with it the same cases are drawn again.
  process.stdout.write(`hostile seed ${seed}\n`)
  const lines: string[] = []
  const result = await run({ count: COUNT, seed, log: (line) => lines.push(line) })
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  expect(result).toEqual({ cases: COUNT, violations: 0 })
}, 600_000)
