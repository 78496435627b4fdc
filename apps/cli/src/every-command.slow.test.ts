import { execFile } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { COMMANDS, type Command } from '@chancery/contract'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { INTERNALS, NOWHERE, fill, nameOf, problemOf } from './testing/any-command.suite.ts'
import { startFakeAuthority } from './testing/fake-authority.suite.ts'
import { TestContext } from './testing/run-command.suite.ts'

let setup: TestContext
let busy: Server
/** A service ends its process, so it gets one. It starts first, because this takes longest. */
let started: Promise<ProcessResult>
beforeAll(async () => {
  setup = await TestContext.make()
  // With the real time, because a service that starts reads the clock of the machine.
  await setup.run('init --home na --name NET', { now: () => BigInt(Date.now()) * 1000n })
  await setup.run('keygen node --out node')
  await writeFile(setup.path('garbage'), 'not what it should be \u0000 {[')
  await mkdir(setup.path('folder'))
  busy = createServer()
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
  started = startProcess([
    'authority',
    'start',
    '--env-file',
    setup.path('na', 'authority.env'),
    '--port',
    portOf(busy),
  ])
})
afterAll(async () => {
  busy.close()
  await setup.remove()
})

interface ProcessResult {
  readonly code: unknown
  readonly output: string
}

function startProcess(words: readonly string[]): Promise<ProcessResult> {
  const program = fileURLToPath(new URL('main.ts', import.meta.url))
  return new Promise((resolve) => {
    execFile(process.execPath, ['--conditions=development', '--', program, ...words], (error, stdout, stderr) => {
      resolve({ code: error?.code, output: stdout + stderr })
    })
  })
}

function portOf(server: Server): string {
  return String((server.address() as AddressInfo).port)
}

/** Services write to the process, not to the command. Commands run at the same time, so this is checked for all. */
async function withProcessOutput(work: () => Promise<readonly string[]>): Promise<readonly string[]> {
  let written = ''
  const take = (text: string | Uint8Array): boolean => {
    written += String(text)
    return true
  }
  const spies = [vi.spyOn(process.stderr, 'write'), vi.spyOn(process.stdout, 'write')]
  for (const spy of spies) spy.mockImplementation(take)
  try {
    const problems = await work()
    const found = INTERNALS.find((pattern) => pattern.test(written))
    return found === undefined ? problems : [...problems, `a service shows ${found}\n${written}`]
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** Commands at a time. Most of their time is the loading of modules. */
const AT_ONCE = 8

/** Collects the problems of all commands, so that one run shows all of them. */
function problemsOf(
  wordsOf: (command: Command) => readonly string[] | undefined,
  mayPass: (command: Command) => boolean = () => false,
  mustName: (command: Command) => string = () => '',
  code?: number,
): Promise<readonly string[]> {
  const queue = COMMANDS.values()
  const problems: string[] = []
  const work = async (): Promise<void> => {
    for (const command of queue) {
      const words = wordsOf(command)
      if (words === undefined) continue
      const line = [...command.path, ...words]
      // A command that stays until it is stopped ends at once.
      const ran = await setup.run(line, { sleep: () => undefined, stop: AbortSignal.abort() })
      const isNamed = (ran.stdout + ran.stderr).includes(mustName(command))
      const problem =
        problemOf(ran, mayPass(command)) ??
        (isNamed ? undefined : `does not name ${mustName(command)}`) ??
        (code === undefined || ran.code === code ? undefined : `has code ${ran.code}, not ${code}`)
      if (problem !== undefined) problems.push(`${line.join(' ')}: ${problem}\n${ran.stderr}`)
    }
  }
  return withProcessOutput(async () => {
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return problems
  })
}

/** Commands that succeed without an argument: they print, or show what is configured. */
const ALONE = new Set(['use', 'version', 'gateway client add service --dry-run'])
/** Commands that would start services or create a network get a folder that is a file, or a busy port. */
const STARTS = new Set(['demo', 'up'])

/** Commands that print a list of checks instead of an error. */
const REPORTS = new Set(['authority watch', 'partner inspect'])

/** Commands without an operator key that read from an authority, with what they need to get that far. */
const READS: Readonly<Record<string, string>> = {
  'node list': '',
  'agent list': '',
  'policy show network': '',
  'policy show recognition': '',
  'evidence submit': 'na/genesis.json',
  'attestation list': '',
  'treaty list': '',
  'treaty show': 'x',
  status: '',
  'partner export-feed': '',
  'partner show': 'NET OTHER',
  'policy show license': '',
  'partner inspect': `${NOWHERE} --genesis na/genesis.json --allow-http`,
  'genesis fetch': '--genesis na/genesis.json',
  'authority watch': '--genesis na/genesis.json',
  join: '--home node-home --token-file - --genesis na/genesis.json',
  ask: 'ledger.read --member-key node.key --attestation x',
  'operator list': '--check',
  'evidence witness': '--state witness.json --key node.key --name witness --init',
  'gateway init': `--url ${NOWHERE} --root-key na/keys/root.pub --home new-gateway`,
}

/** Commands that ask another network on purpose. */
const OTHER_NETWORKS = new Set(['partner inspect', 'gateway init', 'authority watch', 'join'])

/** The first test loads the modules of all commands, which takes long on a busy machine. */
const LIMIT_MS = 180_000

const offline = ['--url', NOWHERE] as const

describe('every command', () => {
  it(
    'without arguments names what is missing and what to do',
    async () => {
      const problems = await problemsOf(
        (command) => (nameOf(command) === 'demo' ? undefined : nameOf(command) === 'up' ? [] : offline),
        (command) => ALONE.has(nameOf(command)),
      )
      expect(problems).toEqual([])
    },
    LIMIT_MS,
  )

  it.each(['missing', 'garbage', 'folder'])(
    'with a wrong file (%s) names it and what to do',
    async (wrong) => {
      const problems = await problemsOf(
        (command) => {
          // Every command meets a missing file, and one of the two others.
          const isTurn = wrong === 'missing' || (COMMANDS.indexOf(command) % 2 === 0) === (wrong === 'garbage')
          const words = fill(command, wrong)
          if (!isTurn || !words.includes(wrong) || STARTS.has(nameOf(command))) return undefined
          // This command writes into a folder.
          if (wrong !== 'garbage' && nameOf(command) === 'policy new') return undefined
          return [...words, ...offline]
        },
        () => false,
        () => '',
        // One code in every command: 1 would be a verdict about the content.
        wrong === 'missing' ? 2 : undefined,
      )
      expect(problems).toEqual([])
    },
    LIMIT_MS,
  )

  it(
    'without a network names the address and what to do',
    async () => {
      const problems = await problemsOf(
        (command) => {
          const reads = READS[nameOf(command)]
          if (reads === undefined && command.needs !== 'operator') return undefined
          const words = reads?.split(' ').filter((word) => word !== '') ?? fill(command, 'node.pub')
          const yes = command.options.some(({ flags }) => flags === '--yes') ? ['--yes'] : []
          return [...words, ...yes, '--home', 'na', ...offline]
        },
        () => false,
        // The two others print a list of checks, which does not repeat the address.
        (command) => (nameOf(command) in READS && !REPORTS.has(nameOf(command)) ? NOWHERE : ''),
      )
      expect(problems).toEqual([])
    },
    LIMIT_MS,
  )

  it(
    'at the address of another network says so, and sends it nothing',
    async () => {
      await setup.run('init --home other --name OTHER', { now: () => BigInt(Date.now()) * 1000n })
      const genesis = setup.path('other', 'genesis.json')
      const other = await startFakeAuthority({ audience: '', operator: '', genesis }, () => ({ json: {} }))
      const problems = await problemsOf(
        (command) => {
          const reads = READS[nameOf(command)]
          const isAsked = reads !== undefined || command.needs === 'operator'
          if (!isAsked || OTHER_NETWORKS.has(nameOf(command))) return undefined
          const words = reads?.split(' ').filter((word) => word !== '') ?? fill(command, 'node.pub')
          const yes = command.options.some(({ flags }) => flags === '--yes') ? ['--yes'] : []
          return [...words, ...yes, '--home', 'na', '--url', other.url]
        },
        () => false,
        // Some of the others meet a wrong file before they ask.
        (command) => (nameOf(command) in READS ? 'another network' : ''),
      )
      await other.close()
      expect({ problems, asked: other.asked.map(({ route }) => route) }).toEqual({ problems: [], asked: [] })
    },
    LIMIT_MS,
  )

  it.each([
    ['demo', '--home garbage --port 1'],
    ['demo', '--two --home garbage --port 1'],
    ['demo', '--home na --reset'],
    ['up', '--home garbage --network NET --create-only'],
    ['up', '--home na/keys --network NET --create-only'],
    ['demo', '--home new --port BUSY'],
    ['demo', '--two --home new --port BUSY'],
    ['up', '--home new --network NET --create-only --port BUSY'],
  ])('%s with %s names the problem, and creates nothing', async (name, line) => {
    const port = portOf(busy)
    // The running authority fills the room that it reserves.
    const list = async (): Promise<string[]> =>
      (await readdir(setup.folder, { recursive: true })).filter((file) => !file.includes('.reserve-'))
    const before = await list()
    const words = line.replace('BUSY', port).split(' ')
    expect(await problemsOf((command) => (nameOf(command) === name ? words : undefined))).toEqual([])
    expect(await list()).toEqual(before)
  })

  it(
    'authority start with a busy port names the port and what to do',
    async () => {
      const { code, output } = await started
      const port = portOf(busy)
      expect(code).toBe(1)
      expect(output).toContain(`PORT: ${port} is in use`)
      expect(output).toContain('choose another port')
      expect(output).not.toMatch(/file:\/\/|node:|[ "]at [a-zA-Z.]+ \(/)
    },
    LIMIT_MS,
  )
})
