import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeJson } from '@chancery/protocol'
import { COMPILE_CACHE, type TestAuthority, createInvite, startTestAuthority } from '@chancery/testkit'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')

let na: TestAuthority
let folder: string
beforeAll(async () => {
  na = await startTestAuthority({ backend: 'sqlite' })
  folder = await mkdtemp(join(tmpdir(), 'chancery-cli-'))
  await writeFile(join(folder, 'genesis.json'), writeJson(na.genesis))
  const joining = start(['join', '--home', 'node', '--url', na.url, '--genesis', 'genesis.json'])
  joining.child.stdin?.end(await createInvite(na))
  if ((await joining.ended).code !== 0) throw new Error('the node could not join')
})
afterAll(async () => {
  await na.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Process {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; signal: string | null }>
  /** Waits for an event among its lines. */
  saw(event: string): Promise<void>
  events(): readonly string[]
}

/** Runs the program from its sources in a separate process. */
function start(args: readonly string[]): Process {
  const child = spawn(process.execPath, ['--conditions=development', MAIN, ...args], {
    cwd: folder,
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout?.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  const events = (): readonly string[] =>
    out
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => (JSON.parse(line) as { event: string }).event)
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }))
  const saw = async (event: string): Promise<void> => {
    while (!events().includes(event)) {
      const end = await Promise.race([once(child.stdout ?? child, 'data'), ended])
      if ('code' in end && !events().includes(event)) throw new Error(`ended with ${end.code} before ${event}`)
    }
  }
  return { child, ended, saw, events }
}

describe.each(['SIGTERM', 'SIGINT'] as const)('a long-running command that gets %s', (signal) => {
  it('node run ends cleanly', async () => {
    const node = start(['node', 'run', '--home', 'node'])
    await node.saw('heartbeat')
    node.child.kill(signal)
    expect(await node.ended).toEqual({ code: 0, signal: null })
    expect(node.events().at(-1)).toBe('stopped')
  })

  it('agent register withdraws its agent first', async () => {
    const flags = ['--agent-id', 'a', '--capability', 'x', '--endpoint', 'ws://h:1']
    const agent = start(['agent', 'register', '--home', 'node', ...flags])
    await agent.saw('registered')
    expect((await na.request('GET', '/agents?capability=x')).json).toMatchObject({ count: 1 })
    agent.child.kill(signal)
    expect(await agent.ended).toEqual({ code: 0, signal: null })
    expect(agent.events()).toEqual(['registered', 'withdrawn', 'stopped'])
    expect((await na.request('GET', '/agents?capability=x')).json).toMatchObject({ count: 0 })
  })
})

describe('a node whose certificate a restored authority lacks', () => {
  it('presents it, waits, and goes on after one command of the operator', async () => {
    const { genesisFile, keySource, keyId, databaseLocation } = na.settings
    if (keySource.provider !== 'file' || databaseLocation.kind !== 'sqlite')
      throw new Error('another kind of authority')
    const db = rowsOf(na.core.database)
    await db.deleteFrom('node_liveness').execute()
    await db.deleteFrom('issued_certs').execute()
    const node = start(['node', 'run', '--home', 'node'])
    await node.saw('presented')
    expect(node.events()).not.toContain('heartbeat')
    const host = ['--genesis', genesisFile, '--na-private-key', keySource.path, '--key-id', keyId]
    const own = [...host, '--db-path', databaseLocation.path]
    const adopting = start(['authority', 'recover', ...own, '--presented', '--unknown', 'adopt'])
    expect(await adopting.ended).toEqual({ code: 0, signal: null })
    await node.saw('heartbeat')
    node.child.kill('SIGTERM')
    expect(await node.ended).toEqual({ code: 0, signal: null })
  })
})
