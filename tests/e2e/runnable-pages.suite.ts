import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ran, missing, readSteps, runPages } from './runnable-pages.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const steps = (page: string) => readSteps(readFileSync(join(ROOT, page), 'utf8'))

/** Runs the pages and compares what they print with what they promise. Returns how each of them ran. */
export function describePages(
  pages: readonly string[],
  readFirst: readonly string[] = [],
): () => ReadonlyMap<string, Ran> {
  let all: ReadonlyMap<string, Ran>
  let home = ''
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'chancery-reader-'))
    // What these pages choose is chosen for all others.
    for (const ran of (await runPages(readFirst, home)).values()) expect(ran.code, ran.errors).toBe(0)
    all = await runPages(pages, home)
  }, 1_500_000)
  afterAll(() => rm(home, { recursive: true, force: true }))

  describe.each(pages)('%s', (page) => {
    let ran: Ran
    beforeAll(() => {
      ran = all.get(page) as Ran
    })

    it('runs from the first command to the last', () => {
      const errors = ran.code === 0 ? '' : `${ran.outputs.at(-1) ?? ''}\n${ran.errors}`
      expect({ code: ran.code, errors, steps: ran.outputs.length }).toEqual({
        code: 0,
        errors: '',
        steps: steps(page).length,
      })
    })

    it.each(steps(page).map(({ title, promised }, index) => [title, index, promised] as const))(
      '"%s" (%i) prints what it promises',
      (_title, index, promised) => {
        expect(promised.length).toBeGreaterThan(0)
        const output = ran.outputs[index] ?? ''
        expect({ missing: missing(promised, output), output }).toEqual({ missing: undefined, output })
      },
    )
  })

  return () => all
}
