import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { COMMANDS } from '@chancery/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeAll(async () => {
  setup = await TestContext.make()
})
afterAll(() => setup.remove())

async function script(shell: string): Promise<string> {
  return (await setup.run(`completion ${shell}`)).stdout
}

describe.each(['bash', 'zsh', 'fish'])('completion %s', (shell) => {
  it('knows every command and every flag', async () => {
    const text = await script(shell)
    for (const { path, options } of COMMANDS) {
      expect(text).toContain(path.join(' '))
      for (const { flags } of options) expect(text).toContain((flags.split(' ')[0] ?? '').slice(2))
    }
  })
})

describe('in a real bash', () => {
  beforeAll(async () => {
    writeFileSync(setup.path('completion.bash'), await script('bash'))
    writeFileSync(setup.path('genesis.json'), '')
  })

  /** What TAB would offer after these words; the last one is being typed. */
  function offered(...words: string[]): string[] {
    const program = `source completion.bash
COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _chancery; printf '%s\\n' "\${COMPREPLY[@]}"`
    const out = execFileSync('bash', ['-euc', program, 'bash', 'chancery', ...words], {
      cwd: setup.folder,
      encoding: 'utf8',
    })
    return out.split('\n').filter((word) => word !== '')
  }

  it.each([
    [['gen'], ['genesis']],
    [
      ['genesis', ''],
      ['create', 'sign', 'verify', 'succeed', 'follow'],
    ],
    [
      ['--json', 'keygen', 'n'],
      ['network-authority', 'node'],
    ],
    [
      ['--config', 'genesis', 'operator', ''],
      ['list', 'add', 'remove', 'revoke', 'activity'],
    ],
    [['policy', 'show', 'network', '--his'], ['--history']],
    [['policy', 'show', 'network', '--j'], ['--json']],
    [
      ['authority', 'start', '--evidence-store', ''],
      ['off', 'on'],
    ],
    [['completion', 'f'], ['fish']],
    [['verify', 'gen'], ['genesis.json']],
    [['genesis', 'sign', '--genesis', 'gen'], ['genesis.json']],
  ])('%j', (words, expected) => {
    expect(offered(...words)).toEqual(expected)
  })
})
