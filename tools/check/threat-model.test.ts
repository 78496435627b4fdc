import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const GUARANTEES = 32
const text = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8')
const files = globSync('{apps,packages}/*/src/**/*.test.ts', { cwd: ROOT })
  .concat(globSync('{tests,tools}/**/*.test.ts', { cwd: ROOT }))
  .map((file) => `/${file}`)

/** Names of test files in code spans; some are the end of a path only. */
const namesIn = (part: string): string[] => [...part.matchAll(/`([^`\s]+\.test\.ts)`/g)].map(([, name]) => name ?? '')

describe('docs/threat-model.md', () => {
  it('names no test that is not there', () => {
    const names = [...new Set(namesIn(text))]
    expect(names.length).toBeGreaterThan(50)
    expect(names.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([])
  })

  it('has each guarantee against malicious callers once, with the whole path of a test', () => {
    const rows = [...text.matchAll(/^\| (\d+) \| (\S.+) \| (.+) \|$/gm)].map(([, number, guarantee, tests]) => ({
      number: Number(number),
      guarantee,
      tests: namesIn(tests ?? ''),
    }))
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: GUARANTEES }, (_, index) => index))
    for (const { number, tests } of rows) {
      expect(tests.length, `guarantee ${number}`).toBeGreaterThan(0)
      expect(
        tests.filter((name) => !files.includes(`/${name}`)),
        `guarantee ${number}`,
      ).toEqual([])
    }
  })
})
