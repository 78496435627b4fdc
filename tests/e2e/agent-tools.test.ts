import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSteps } from './runnable-pages.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'agent-tools')
const SCRIPT = join(EXAMPLE, 'run.sh')
const script = readFileSync(SCRIPT, 'utf8')
const steps = readSteps(readFileSync(join(EXAMPLE, 'README.md'), 'utf8'))

/** agent-tools.nightly.test.ts runs the script: 42 s of processor time. */
describe('examples/agent-tools/run.sh', () => {
  it('has the steps of its page, and no others', () => {
    const titles = [...script.matchAll(/^step '(.+)'$/gm)].map(([, title]) => title)
    expect(titles).toEqual(steps.map(({ title }) => title))
    expect(titles.length).toBeGreaterThan(7)
  })

  it.each(steps)('"$title" has the commands of the page, which shows what they print', ({ commands, promised }) => {
    expect(script).toContain(commands)
    expect(promised.length).toBeGreaterThan(0)
  })

  it('refuses a folder with files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chancery-agent-tools-'))
    try {
      writeFileSync(join(folder, 'mine.txt'), 'mine')
      const { status, stderr } = spawnSync('bash', [SCRIPT, folder], { encoding: 'utf8' })
      expect([status, stderr]).toEqual([1, expect.stringContaining('is not empty')])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
