import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { run } from '../campaigns/succession-live.ts'

it('lets nodes, gateways, an auditor and a partner follow a succession that is undone after the switch', async () => {
  const seed = randomInt(2 ** 32)
  const lines: string[] = []
  const result = await run({ count: 1, nodes: 6, seed, log: (line) => lines.push(line) })
  process.stdout.write(`succession-live seed ${seed}\n`)
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  expect(result).toEqual({ cases: 1, violations: 0 })
}, 600_000)
