import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { run } from '../campaigns/audit-forward.ts'

it('forwards 2000 audit events through kills of forwarder and broker: none lost', async () => {
  const seed = randomInt(2 ** 32)
  const lines: string[] = []
  const result = await run({ count: 2000, seed, log: (line) => lines.push(line) })
  process.stdout.write(`audit-forward seed ${seed}\n`)
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  expect(result).toEqual({ cases: 2000, violations: 0 })
}, 120_000)
