import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { runSteps } from './run-steps.ts'
import { stepsOf } from './tiers.ts'

/** Runs steps that each take some turns, and returns what began and ended, in order. */
async function timeline(steps: readonly { name: string; turns: number; isPaired?: true; after?: string }[]) {
  const seen: string[] = []
  const results = await runSteps(steps, async ({ name, turns }) => {
    seen.push(`+${name}`)
    for (let turn = 0; turn < turns; turn += 1) await nextTurn()
    seen.push(`-${name}`)
    return name
  })
  return { seen: seen.join(' '), results }
}

it('runs paired steps two at a time, the others alone, and returns results in their order', async () => {
  const { seen, results } = await timeline([
    { name: 'a', turns: 9, isPaired: true },
    { name: 'b', turns: 2, isPaired: true },
    { name: 'c', turns: 2, isPaired: true },
    { name: 'd', turns: 1 },
    { name: 'e', turns: 1 },
  ])
  expect(seen).toBe('+a +b -b +c -c -a +d -d +e -e')
  expect(results).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('begins a step after the one whose files it reads, also when there is none to wait for', async () => {
  const { seen } = await timeline([
    { name: 'types', turns: 5, isPaired: true },
    { name: 'generated', turns: 1, isPaired: true, after: 'types' },
    { name: 'words', turns: 1, isPaired: true, after: 'left out' },
  ])
  expect(seen).toBe('+types -types +generated +words -generated -words')
})

it('is given steps that read only earlier ones', () => {
  for (const tier of ['quick', 'check', 'nightly']) {
    const steps = stepsOf(tier, '/nowhere')?.steps ?? []
    expect(steps.length).toBeGreaterThan(5)
    for (const [index, { after }] of steps.entries())
      if (after !== undefined) expect(steps.slice(0, index).map(({ name }) => name)).toContain(after)
  }
})
