import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { run as runBacklog } from '../campaigns/gateway-backlog.ts'
import { run as runDamage } from '../campaigns/gateway-damage.ts'
import { run as runKills } from '../campaigns/gateway-kills.ts'
import { run as runLists } from '../campaigns/gateway-lists.ts'
import { BEHAVIOURS } from '../campaigns/hostile-lists.ts'

async function small(name: string, run: typeof runKills, count: number): Promise<number> {
  const seed = randomInt(2 ** 32)
  const lines: string[] = []
  const { cases, violations } = await run({ count, seed, log: (line) => lines.push(line) })
  process.stdout.write(`${name} seed ${seed}\n`)
  expect({ violations, lines: violations === 0 ? [] : lines }).toEqual({ violations: 0, lines: [] })
  return cases
}

describe('campaigns of the gateway', () => {
  it('gateway-lists: over thirty hostile list servers, three times, and no list is wrongly accepted', async () => {
    expect(BEHAVIOURS.filter(({ outcome }) => outcome !== 'installed').length).toBeGreaterThanOrEqual(30)
    expect(await small('gateway-lists', runLists, 3)).toBe(3 * BEHAVIOURS.length)
  }, 180_000)

  it('gateway-backlog: 2000 events come in order and whole after the collector returns', async () => {
    expect(await small('gateway-backlog', runBacklog, 2000)).toBeGreaterThanOrEqual(2000)
  }, 180_000)

  it('gateway-kills: four kills lose no revocation and no event', async () => {
    expect(await small('gateway-kills', runKills, 4)).toBe(4)
  }, 180_000)

  it('gateway-damage: ten damaged state files are refused or have lost nothing', async () => {
    expect(await small('gateway-damage', runDamage, 10)).toBe(10)
  }, 180_000)
})
