import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COMMANDS, COMMAND_GROUPS } from '@chancery/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestContext } from './testing/run-command.suite.ts'

let setup: TestContext
beforeAll(async () => {
  setup = await TestContext.make()
})
afterAll(() => setup.remove())

it('the package can be imported without running a command', async () => {
  const script = "console.log(Object.keys(await import('@chancery/cli')).join())"
  const args = ['--conditions=development', '--input-type=module', '--eval', script, 'version']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, '..') })
  expect([stdout, stderr]).toEqual(['runProgram\n', ''])
})

describe('help', () => {
  it('lists every first word when nothing is asked', async () => {
    const { code, stdout } = await setup.run('')
    expect(code).toBe(0)
    for (const { path } of COMMANDS) expect(stdout).toContain(`  ${path[0]}`)
  })

  it.each(COMMANDS.map((command) => [command.path.join(' '), command] as const))(
    'of %s shows all of its data',
    async (line, command) => {
      const { code, stdout } = await setup.run(`${line} --help`)
      expect(code).toBe(0)
      for (const option of command.options) expect(stdout).toContain(option.flags)
      for (const example of command.examples) expect(stdout).toContain(example.line)
      expect(stdout).toContain('--json')
    },
  )

  it.each(Object.entries(COMMAND_GROUPS))('of the group %s describes it', async (group, { description, headings }) => {
    const { code, stdout } = await setup.run(`${group} -h`)
    expect(code).toBe(0)
    expect(stdout).toContain(description)
    for (const [title] of headings) expect(stdout).toContain(`\n${title}\n`)
  })

  it('of a group goes to standard error when a command is missing', async () => {
    const { code, stdout, stderr } = await setup.run('genesis')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('create')
  })
})

describe('a wrong call', () => {
  it.each([
    ['genezis', 'There is no command "genezis".', 'Did you mean: chancery genesis create'],
    ['veryfi', 'There is no command "veryfi".', 'Did you mean: chancery verify'],
    ['zzzzzzzz', 'There is no command "zzzzzzzz".', 'chancery --help'],
    ['verify', "missing required argument 'file'", 'See: chancery verify --help'],
    ['verify a b', 'too many arguments', 'See: chancery verify --help'],
    ['genesis create --out g', '--name, --root-key must be given', 'See: chancery genesis create --help'],
    ['keygen root --owt x', "unknown option '--owt'", '(Did you mean --out?)'],
    ['completion tcsh', "'tcsh' is invalid", 'bash, zsh, fish'],
    ['authority start --evidence-store maybe', "'maybe' is invalid", 'off, on'],
  ])('%s ends with 2 and says what to do', async (line, problem, hint) => {
    const { code, stdout, stderr } = await setup.run(line)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(problem)
    expect(stderr).toContain(hint)
  })

  it('refuses an empty value, which an unset variable leaves behind', async () => {
    const { code, stderr } = await setup.run(['init', '--home', '', '--name', 'X'])
    expect(code).toBe(2)
    expect(stderr).toContain('It is empty')
  })

  it('is one JSON document with --json', async () => {
    const { stderr, errorJson } = await setup.run('verify --json')
    expect(errorJson()).toMatchObject({ error: { code: 'usage', message: "missing required argument 'file'" } })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it('prints no control characters of its caller', async () => {
    const { stderr } = await setup.run(['gen\u001b[31mesis'])
    expect(stderr).not.toContain('\u001b')
  })
})

describe('a command that takes many words', () => {
  it('shows it in its help', async () => {
    expect((await setup.run('node revoke --help')).stdout).toContain('[certificate...]')
    expect((await setup.run('node revoke --help')).stdout).toContain('chancery node revoke')
  })
})

describe('options', () => {
  it('of the program stand before or after the command', async () => {
    const [before, after] = [await setup.run('--json completion bash'), await setup.run('completion bash --json')]
    expect(before.json()).toEqual(after.json())
  })

  it('--version is the program before a command and the network after `genesis create`', async () => {
    expect((await setup.run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    await setup.run('keygen root --out root')
    await setup.run('keygen authority --out na')
    const made = await setup.run(
      'genesis create --name N --root-key root.pub --authority-key na.pub --out g.json --version v9',
    )
    expect(made.stdout).toContain('N v9')
  })
})

describe('colors', () => {
  const line = 'keygen node --force --out colored'

  it('are for terminals only', async () => {
    expect((await setup.run(line)).stdout).not.toContain('\u001b')
    expect((await setup.run(line, { isTTY: true })).stdout).toContain('\u001b[32m')
  })

  it('are off when the user says so', async () => {
    expect((await setup.run(line, { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\u001b')
    expect((await setup.run(`${line} --no-color`, { isTTY: true })).stdout).not.toContain('\u001b')
    expect((await setup.run(`--no-color ${line}`, { isTTY: true })).stdout).not.toContain('\u001b')
    expect((await setup.run('genezis --no-color', { isTTY: true })).stderr).not.toContain('\u001b')
  })
})
