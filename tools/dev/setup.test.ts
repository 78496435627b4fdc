import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Machine, describeParts, inspectMachine } from './machine.ts'

const ROOT = join(import.meta.dirname, '..', '..')
let folder = ''
let server: Server
let openPort = 0
let closedPort = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-setup-'))
  server = createServer((socket) => socket.end())
  openPort = await listen(server)
  const other = createServer()
  closedPort = await listen(other)
  await new Promise((resolve) => other.close(resolve))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await new Promise((resolve) => server.close(resolve))
})

function listen(each: Server): Promise<number> {
  return new Promise((resolve) => {
    each.listen(0, '127.0.0.1', () => resolve((each.address() as AddressInfo).port))
  })
}

/** A laptop: no program on its path and no server. */
const laptop = (): Machine => ({
  path: join(folder, 'nothing'),
  postgres: `postgresql://127.0.0.1:${closedPort}`,
  redis: `redis://127.0.0.1:${closedPort}`,
  exists: () => false,
})
const foundOn = async (machine: Machine): Promise<string[]> =>
  (await inspectMachine(machine)).filter(({ isThere }) => isThere).map(({ name }) => name)

function setup(args: readonly string[], root = ROOT) {
  const env = { PATH: join(folder, 'nothing'), CHANCERY_TEST_POSTGRES: `postgresql://127.0.0.1:${closedPort}` }
  const start = join(root, 'tools/dev/start-setup.mjs')
  return spawnSync(process.execPath, [start, ...args], { cwd: root, env, encoding: 'utf8' })
}

describe('parts of a machine', () => {
  it('are all missing on a laptop, each with its use and the next step', async () => {
    const parts = await inspectMachine(laptop())
    expect(parts.filter(({ isThere }) => isThere)).toEqual([])
    const text = describeParts(parts).join('\n')
    expect(text).toContain('Development uses SQLite and needs none of these.')
    for (const { name, neededFor, advice } of parts) expect(text).toContain(`- ${name}: ${neededFor}. ${advice}`)
  })

  it('include a server that accepts connections', async () => {
    expect(await foundOn({ ...laptop(), postgres: `postgresql://postgres@127.0.0.1:${openPort}/x` })).toEqual([
      'PostgreSQL',
    ])
  })

  it('include Redis only with its program, which tests start themselves', async () => {
    const programs = join(folder, 'programs')
    mkdirSync(programs)
    const redis = `redis://127.0.0.1:${openPort}`
    expect(await foundOn({ ...laptop(), redis })).toEqual([])
    writeFileSync(join(programs, 'redis-server'), '')
    expect(await foundOn({ ...laptop(), redis, path: programs })).toEqual([])
    chmodSync(join(programs, 'redis-server'), 0o755)
    expect(await foundOn({ ...laptop(), redis, path: `/none:${programs}` })).toEqual(['Redis'])
    expect(await foundOn({ ...laptop(), path: programs })).toEqual([])
  })

  it('include files at their fixed places', async () => {
    expect(await foundOn({ ...laptop(), exists: (file) => file === '/usr/bin/chromium' })).toEqual(['Chromium'])
  })

  it('are missing when the address cannot be read', async () => {
    expect(await foundOn({ ...laptop(), postgres: 'not an address' })).toEqual([])
  })

  it('are complete: nothing is advised', () => {
    const part = { name: 'X', isThere: true, neededFor: 'tests', advice: 'Install x.' }
    expect(describeParts([part])).toEqual(['Optional programs found: X.', 'npm run check can run everything.'])
  })
})

describe('npm run setup -- --check', () => {
  it('ends with 0 without PostgreSQL, and writes nothing', () => {
    const had = existsSync(join(ROOT, '.dev'))
    const { status, stdout, stderr } = setup(['--check'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('- PostgreSQL: npm run test:database')
    expect(existsSync(join(ROOT, '.dev'))).toBe(had)
  })

  it('has the same as JSON', () => {
    const { node, parts } = JSON.parse(setup(['--check', '--json']).stdout) as {
      node: string
      parts: { name: string; isThere: boolean }[]
    }
    expect(node).toBe(process.versions.node)
    expect(parts.find(({ name }) => name === 'PostgreSQL')).toMatchObject({ isThere: false })
  })

  it.each([[['--chek']], [['--json']], [['here']]])('refuses %j with the usage', (args) => {
    const { status, stderr } = setup(args)
    expect(status).toBe(2)
    expect(stderr).toContain('npm run setup [-- --check [--json]]')
  })

  it('names npm ci in a clone without packages', () => {
    const clone = join(folder, 'clone')
    cpSync(join(ROOT, 'tools/dev'), join(clone, 'tools/dev'), { recursive: true })
    const { status, stderr } = setup([], clone)
    expect(status).toBe(1)
    expect(stderr).toContain('Run: npm ci')
  })
})
