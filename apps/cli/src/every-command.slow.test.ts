import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { COMMANDS } from '@chancery/contract'
import type { Command } from '@chancery/contract'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { TestContext } from './testing/run-command.suite.ts'
import type { CommandRun } from './testing/run-command.suite.ts'

/** No server listens on this port. */
const NOWHERE = 'http://127.0.0.1:1'

let setup: TestContext
let busy: Server
beforeAll(async () => {
  setup = await TestContext.make()
  // With the real time, because a service that starts reads the clock of the machine.
  await setup.run('init --home na --network NET', { now: () => BigInt(Date.now()) * 1000n })
  await setup.run('keygen node --out node')
  await writeFile(setup.path('garbage'), 'not what it should be \u0000 {[')
  await mkdir(setup.path('folder'))
  busy = createServer()
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  busy.close()
  await setup.remove()
})

/** Text that shows how the program is built, never what a person did wrong. */
const INTERNALS = [
  /^\s+at .*[:(]/m,
  /\bfile:\/\//,
  /\bnode:[a-z]/,
  /node_modules|[/\\]dist[/\\]|apps[/\\]cli[/\\]src/,
  /Unexpected error|\[object |\bundefined\b|\bERR_[A-Z]/,
]

/** Returns what is wrong with the output of a command that cannot succeed, or undefined. */
function problemOf({ code, stdout, stderr }: CommandRun, mayPass = false): string | undefined {
  const found = INTERNALS.find((pattern) => pattern.test(stdout + stderr))
  if (found !== undefined) return `shows ${found}`
  if (mayPass && code <= 1 && !stderr.includes('error:')) return undefined
  if (code === 0) return 'exits with 0'
  if (stdout !== '' && code === 1 && !stderr.includes('error:')) return undefined
  const [, message = ''] = /^error: (.+)$/m.exec(stderr) ?? []
  if (message === '') return stderr.includes('Usage:') ? undefined : 'has no error sentence'
  const after = stderr.slice(stderr.indexOf(message) + message.length).trim()
  return after === '' ? 'does not say what to do next' : undefined
}

/** Runs a command; one that stays until it is stopped ends at once. Services write to the process, not to the command. */
async function run(words: readonly string[]): Promise<CommandRun> {
  let written = ''
  const take = (text: string | Uint8Array): boolean => {
    written += String(text)
    return true
  }
  const spies = [vi.spyOn(process.stderr, 'write'), vi.spyOn(process.stdout, 'write')]
  for (const spy of spies) spy.mockImplementation(take)
  try {
    const ran = await setup.run(words, { sleep: () => undefined, stop: AbortSignal.abort() })
    return { ...ran, stderr: written + ran.stderr }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** Collects the problems of all commands, so that one run shows all of them. */
async function problemsOf(
  wordsOf: (command: Command) => readonly string[] | undefined,
  mayPass: (command: Command) => boolean = () => false,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const command of COMMANDS) {
    const words = wordsOf(command)
    if (words === undefined) continue
    const ran = await run([...command.path, ...words])
    const problem = problemOf(ran, mayPass(command))
    if (problem !== undefined) problems.push(`${[...command.path, ...words].join(' ')}: ${problem}\n${ran.stderr}`)
  }
  return problems
}

/** Commands that succeed without an argument: they print, or show what is configured. */
const ALONE = new Set(['use', 'version', 'gateway token new'])
/** Commands that would start services or write to the folder; they have their own tests. */
const STARTS = new Set(['demo', 'up'])

function nameOf({ path }: Command): string {
  return path.join(' ')
}

/** A value for an option or argument; names of files and keys get the wrong one. */
function valueFor(name: string, wrong: string): string {
  if (/^(n|sequence|version|hours|days|seconds|port|quorum)$/.test(name)) return '1'
  if (/^(address|url)$/.test(name)) return NOWHERE
  if (/^time$/.test(name)) return '2030-01-01T00:00:00Z'
  if (/file|dir|folder|key$|agreement|pin|record|certificate|genesis|path/.test(name)) return wrong
  return 'x'
}

function fill(command: Command, wrong: string): readonly string[] {
  const options = command.options.flatMap(({ flags, required, choices }) => {
    const [flag = '', value] = flags.split(' ')
    const name = value?.slice(1, -1)
    if (name === undefined || (required !== true && !/file|dir|folder/.test(name)) || flag === '--out') return []
    return [flag, choices?.[0] ?? valueFor(name, wrong)]
  })
  const out = command.options.some(({ flags, required }) => flags.startsWith('--out ') && required === true)
  const words = command.arguments
    .filter(({ required }) => required)
    .map(({ name, choices }) => choices?.[0] ?? valueFor(name, wrong))
  return [...words, ...options, ...(out ? ['--out', `out-${nameOf(command).replaceAll(' ', '-')}`] : [])]
}

const offline = ['--url', NOWHERE] as const

describe('every command', () => {
  it('without arguments names what is missing and what to do', async () => {
    const problems = await problemsOf(
      (command) => (STARTS.has(nameOf(command)) ? undefined : offline),
      (command) => ALONE.has(nameOf(command)),
    )
    expect(problems).toEqual([])
  }, 60_000)

  it.each(['missing', 'garbage', 'folder'])(
    'with a wrong file (%s) names it and what to do',
    async (wrong) => {
      const problems = await problemsOf((command) => {
        // Every command meets a missing file, and one of the two others.
        const isTurn = wrong === 'missing' || (COMMANDS.indexOf(command) % 2 === 0) === (wrong === 'garbage')
        const words = fill(command, wrong)
        if (!isTurn || !words.includes(wrong) || STARTS.has(nameOf(command))) return undefined
        // A folder is what this command needs.
        if (wrong === 'folder' && nameOf(command) === 'boundary-policy new') return undefined
        return [...words, ...offline]
      })
      expect(problems).toEqual([])
    },
    60_000,
  )

  it('without a network names the address and what to do', async () => {
    const problems = await problemsOf((command) => {
      if (command.needs !== 'operator') return undefined
      const words = fill(command, 'node.pub')
      const yes = command.options.some(({ flags }) => flags === '--yes') ? ['--yes'] : []
      return [...words, ...yes, '--config', 'na/chancery.toml', ...offline]
    })
    expect(problems).toEqual([])
  }, 60_000)

  // A service ends its process, so it gets one.
  it('authority start with a busy port names the port and what to do', async () => {
    const port = String((busy.address() as AddressInfo).port)
    const program = fileURLToPath(new URL('main.ts', import.meta.url))
    const words = ['authority', 'start', '--env-file', setup.path('na', 'authority.env'), '--port', port]
    const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
      execFile(process.execPath, ['--conditions=development', '--', program, ...words], (error, stdout, stderr) => {
        resolve({ code: error?.code, output: stdout + stderr })
      })
    })
    expect(code).toBe(1)
    expect(output).toContain(`PORT: ${port} is in use`)
    expect(output).toContain('choose another port')
    expect(output).not.toMatch(/file:\/\/|node:|[ "]at [a-zA-Z.]+ \(/)
  }, 60_000)
})
