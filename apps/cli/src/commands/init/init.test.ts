import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { readGenesisBlock, readJson, readPrivateKeyFile, verifyGenesisBlock } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../files/config.ts'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
})
afterEach(() => setup.remove())

const INIT = 'init --home na --name EXAMPLE-NET'

async function read(...names: string[]): Promise<string> {
  return readFile(setup.path(...names), 'utf8')
}

async function modeOf(...names: string[]): Promise<number> {
  return (await stat(setup.path(...names))).mode & 0o777
}

async function seeds(home = 'na'): Promise<string[]> {
  const names = ['root', 'network-authority', 'operator']
  return Promise.all(
    names.map(async (name) => readPrivateKeyFile(await read(home, 'keys', `${name}.key`))?.value ?? ''),
  )
}

describe('init', () => {
  it('makes a signed block for 90 days from now', async () => {
    expect((await setup.run(INIT)).code).toBe(0)
    const block = readGenesisBlock(readJson(await read('na', 'genesis.json')))
    expect(await verifyGenesisBlock(block)).toEqual({ ok: true })
    expect(block).toMatchObject({
      network_name: 'EXAMPLE-NET',
      network_authority: { valid_from: '2030-01-02T03:00:00Z', valid_to: '2030-04-02T03:00:00Z' },
      signatures: [{ key_id: 'rs-local' }],
    })
  })

  it('lets only the owner into the folder, the keys and the settings', async () => {
    await setup.run(INIT)
    expect(await modeOf('na')).toBe(0o700)
    expect(await modeOf('na', 'keys')).toBe(0o700)
    for (const name of ['root', 'network-authority', 'operator'])
      expect(await modeOf('na', 'keys', `${name}.key`)).toBe(0o600)
    expect(await modeOf('na', 'authority.env')).toBe(0o600)
  })

  it('closes an empty folder that was there before', async () => {
    await mkdir(setup.path('na'), { mode: 0o755 })
    expect((await setup.run(INIT)).code).toBe(0)
    expect(await modeOf('na')).toBe(0o700)
  })

  it('writes settings with absolute paths and one privileged operator', async () => {
    await setup.run(`${INIT} --port 9000 --host 0.0.0.0`)
    const lines = (await read('na', 'authority.env')).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const settings = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    const operator = readJson(await read('na', 'genesis.json'))
    expect(operator).toBeDefined()
    expect(settings).toEqual({
      GENESIS_FILE: setup.path('na', 'genesis.json'),
      NA_PRIVATE_KEY_FILE: setup.path('na', 'keys', 'network-authority.key'),
      NA_KEY_ID: 'na-local',
      OPERATOR_PUBLIC_KEYS_JSON: setup.path('na', 'operators.json'),
      DB_PATH: setup.path('na', 'authority.db'),
      HOST: '0.0.0.0',
      PORT: '9000',
      NA_NODE_DECISIONS: 'own',
    })
  })

  it('writes a configuration the other commands understand', async () => {
    await setup.run(`${INIT} --port 9000 --host 0.0.0.0`)
    const file = setup.path('na', 'chancery.toml')
    expect(readConfig(file, await read('na', 'chancery.toml'))).toMatchObject({
      warnings: [],
      network: { name: 'EXAMPLE-NET', version: 'v0.1', na_endpoint: 'http://127.0.0.1:9000' },
      paths: { home: setup.path('na'), operator_private_key: setup.path('na', 'keys', 'operator.key') },
      na: { key_id: 'na-local', host: '0.0.0.0', port: '9000' },
      operator: { key_id: 'operator-local' },
    })
  })

  it('ends with the next two commands, ready to paste', async () => {
    const { stdout } = await setup.run(INIT)
    expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
      '  chancery authority start --env-file ./na/authority.env',
      '  chancery policy show network --home ./na',
    ])
    const { json } = await setup.run('init --home ../elsewhere --name X --json', { cwd: setup.path('na') })
    expect(json()['next']).toEqual([
      `chancery authority start --env-file ${setup.path('elsewhere', 'authority.env')}`,
      `chancery policy show network --home ${setup.path('elsewhere')}`,
    ])
  })

  it('never prints a private key', async () => {
    const [plain, json] = [await setup.run(INIT), await setup.run(`${INIT.replace('na', 'nb')} --json`)]
    for (const seed of [...(await seeds('na')), ...(await seeds('nb'))]) {
      expect(plain.stdout + plain.stderr + json.stdout + json.stderr).not.toContain(seed)
    }
  })
})

describe('an existing folder', () => {
  it('is not touched without --force', async () => {
    await setup.run(INIT)
    const before = await seeds()
    const { code, stderr } = await setup.run(INIT)
    expect(code).toBe(1)
    expect(stderr).toContain('already contains a network')
    expect(await seeds()).toEqual(before)
  })

  it('is moved aside with --force, keys and all', async () => {
    await setup.run(INIT)
    const before = await seeds()
    const { code, stdout } = await setup.run(`${INIT} --force`)
    expect(code).toBe(0)
    const aside = 'na.old-20300102T030000000000Z'
    expect(stdout).toContain(`moved to ./${aside}`)
    expect(await seeds(aside)).toEqual(before)
    expect(await seeds()).not.toEqual(before)
  })

  it('is never moved onto an earlier one', async () => {
    await setup.run(INIT)
    await setup.run(`${INIT} --force`)
    const before = await seeds()
    const { code, stderr } = await setup.run(`${INIT} --force`)
    expect(code).toBe(1)
    expect(stderr).toContain('exists already')
    expect(await seeds()).toEqual(before)
  })

  it('with other files is left alone, even with --force', async () => {
    await mkdir(setup.path('na'))
    await writeFile(setup.path('na', 'thesis.txt'), 'precious')
    const { code, stderr } = await setup.run(`${INIT} --force`)
    expect(code).toBe(1)
    expect(stderr).toContain('contains other files')
    expect(await readdir(setup.path('na'))).toEqual(['thesis.txt'])
  })

  it('may not be a file', async () => {
    await writeFile(setup.path('na'), 'precious')
    const { code, stderr } = await setup.run(`${INIT} --force`)
    expect(code).toBe(2)
    expect(stderr).toContain('is not a folder')
  })
})

describe('choices', () => {
  it('are asked for on a terminal, with defaults', async () => {
    const questions: [string, string][] = []
    const text = (question: string, initial: string): Promise<string> => {
      questions.push([question, initial])
      return Promise.resolve(initial)
    }
    const { code, stdout } = await setup.run('init --no-color', { isTTY: true, prompts: { text } })
    expect(code).toBe(0)
    expect(questions.map(([, initial]) => initial)).toEqual(['./na', 'LOCAL-NET', '8443'])
    expect(stdout).toContain('Made network LOCAL-NET')
  })

  it('that were given are not asked for again', async () => {
    const asked: string[] = []
    const text = (question: string, initial: string): Promise<string> => {
      asked.push(question)
      return Promise.resolve(initial)
    }
    await setup.run('init --home na --port 9000', { isTTY: true, prompts: { text } })
    expect(asked).toEqual(['Name of the network'])
  })

  it.each([
    ['init', '--home and --network must be given'],
    ['init --home na', '--network must be given'],
    ['init --name X', '--home must be given'],
    [`${INIT} --port 0`, 'The port must be'],
    [`${INIT} --port 65536`, 'The port must be'],
    [`${INIT} --host a/b`, 'The host must be'],
    ['init --home na --name a/b', 'The name of a network is'],
  ])('of "%s" are refused', async (line, problem) => {
    const { code, stderr } = await setup.run(line)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
    await expect(readdir(setup.path('na'))).rejects.toThrow('ENOENT')
  })
})
