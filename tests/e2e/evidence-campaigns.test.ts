import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { run as runCheckpoints } from '../campaigns/evidence-checkpoints.ts'
import { run as runKills } from '../campaigns/evidence-kills.ts'
import { run as runServerKills } from '../campaigns/evidence-server-kills.ts'
import { run as runTamper } from '../campaigns/evidence-tamper.ts'

async function small(name: string, run: typeof runKills, count: number): Promise<void> {
  const seed = randomInt(2 ** 32)
  const lines: string[] = []
  const result = await run({ count, seed, log: (line) => lines.push(line) })
  process.stdout.write(`${name} seed ${seed}\n`)
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  expect(result).toEqual({ cases: count, violations: 0 })
}

describe('campaign evidence-tamper', () => {
  it(
    'finds 1000 forgeries of exports and stored rows, each at its place',
    () => small('evidence-tamper', runTamper, 1000),
    180_000,
  )
})

describe('campaign evidence-checkpoints', () => {
  it('proves each of 60 checkpoints to be in every later one', () => small('evidence-checkpoints', runCheckpoints, 60))
})

describe('campaign evidence-kills', () => {
  it(
    'finds everything acknowledged, chain, anchors and log sound, after 6 kills',
    () => small('evidence-kills', runKills, 6),
    240_000,
  )
})

describe('campaign evidence-server-kills', () => {
  it(
    'finds everything acknowledged after the database server was killed',
    () => small('evidence-server-kills', runServerKills, 1),
    120_000,
  )
})
