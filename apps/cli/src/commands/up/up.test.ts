import { once } from 'node:events'
import { readFile, readdir, rm, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readPrivateKeyFile } from '@chancery/protocol'
import { freePort } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { NOW, TestContext } from '../../testing/run-command.suite.ts'
import { homeFiles } from '../init/home.ts'
import { readyOrEnded } from './background.ts'
import { NODE_RANGE, checkMachine } from './check-machine.ts'
import { composeText, unitText } from './service-files.ts'

const ROOT = join(import.meta.dirname, '../../../../..')
let setup: TestContext
let up: string
beforeEach(async () => {
  setup = await TestContext.make()
  up = `up --home na --name TEAM-NET --port ${await freePort()}`
})
afterEach(() => setup.remove())

const read = (...names: string[]): Promise<string> => readFile(setup.path(...names), 'utf8')
const seeds = (): Promise<string[]> =>
  Promise.all(
    ['root', 'network-authority', 'operator'].map(
      async (name) => readPrivateKeyFile(await read('na', 'keys', `${name}.key`))?.value ?? '',
    ),
  )

describe('up', () => {
  it('creates a network, prints the recovery sheet without a private key, the console and three steps', async () => {
    const { code, stdout, stderr } = await setup.run(`${up} --create-only`)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Made network TEAM-NET in ./na.')
    expect(stdout).toContain('Recovery sheet of TEAM-NET')
    expect(stdout).toMatch(/^Console: http:\/\/127\.0\.0\.1:\d+\/$/m)
    expect(stdout.match(/^ {2}[123]\. /gm)).toHaveLength(3)
    const publicKey = (await read('na/keys/root.pub')).trim().split('\n').at(-1) ?? ''
    expect(stdout).toContain(publicKey)
    for (const seed of await seeds()) expect(stdout).not.toContain(seed)
  })

  it('writes the sheet to a file that only its owner reads, and to no screen', async () => {
    const { stdout } = await setup.run(`${up} --create-only --sheet sheet.txt`)
    expect(stdout).not.toContain('PRIVATE FILE')
    const sheet = await read('sheet.txt')
    expect(sheet).toContain('PRIVATE FILE')
    for (const seed of await seeds()) expect(sheet).not.toContain(seed)
    expect((await stat(setup.path('sheet.txt'))).mode & 0o777).toBe(0o600)
    const again = await setup.run(`up --home na --create-only --out sheet.txt --json`)
    expect(again.errorJson()['error']).toMatchObject({ code: 'file_exists' })
  })

  it('keeps the keys of a network in the folder, and refuses another name for it', async () => {
    await setup.run(`${up} --create-only`)
    const before = await seeds()
    const again = await setup.run('up --home na --create-only')
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Its keys were not changed.')])
    expect(await seeds()).toEqual(before)
    expect((await setup.run('up --home na --name OTHER --create-only --json')).errorJson()['error']).toMatchObject({
      code: 'home_exists',
    })
    await rm(setup.path('na/keys/root.key'))
    const { stdout } = await setup.run('up --home na --create-only')
    expect(stdout).toContain('not in this folder any more')
    expect(stdout).not.toContain('Move the root key offline')
    expect(stdout.match(/^ {2}[123]\. /gm)).toHaveLength(3)
  })

  it('names a port that is taken, and creates nothing', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    try {
      const { code, stderr } = await setup.run(`up --home na --name TEAM-NET --port ${port}`)
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`port: 127.0.0.1:${port} is used by another program. Stop that program`),
      ])
      expect(await readdir(setup.folder)).toEqual([])
    } finally {
      taken.close()
    }
  })

  it('refuses two ways to start and a folder with other files', async () => {
    expect((await setup.run(`${up} --systemd --compose`)).code).toBe(2)
    const { errorJson } = await setup.run(`up --home . --name N --port ${await freePort()} --create-only --json`, {
      cwd: ROOT,
    })
    expect(errorJson()['error']).toMatchObject({ code: 'folder_in_use' })
  })

  it.each([
    ['systemd', 'chancery-authority.service', 'sudo systemctl enable --now chancery-authority.service'],
    ['compose', 'compose.yaml', 'docker compose -f ./na/compose.yaml up -d'],
  ])('--%s writes %s and prints how to start it', async (flag, file, line) => {
    const { code, stdout } = await setup.run(`${up} --${flag}`)
    expect([code, stdout]).toEqual([0, expect.stringContaining(line)])
    expect(await read('na', file)).toContain(setup.path('na', 'authority.env'))
    const again = await setup.run(`up --home na --${flag} --json`)
    expect(again.errorJson()['error']).toMatchObject({ code: 'file_exists' })
  })
})

describe('the name of the folder', () => {
  it.each([
    ['a line end', 'a\nHOST=0.0.0.0', '--create-only', 'without control characters'],
    ['a backslash, for systemd', 'a\\', '--systemd', 'without backslashes'],
  ])('with %s is refused before anything is made', async (_what, home, flag, problem) => {
    const words = ['up', '--home', home, '--network', 'TEAM-NET', flag]
    const { code, stderr } = await setup.run(words)
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)])
    const gateway = ['gateway', 'init', '--out', 'a\nGATEWAY_ADDR=0.0.0.0:1', '--authority', 'http://127.0.0.1:1']
    expect((await setup.run([...gateway, '--root-key', 'x'])).stderr).toContain('without control characters')
    expect(await readdir(setup.folder)).toEqual([])
  })
})

describe('service files', () => {
  const inputs = (home: string, host = '127.0.0.1') => ({
    choices: { home, network: 'TEAM-NET', host, port: '8443' },
    files: homeFiles(home),
    user: { name: 'team', uid: 1001, gid: 1002 },
  })

  it('a unit quotes and escapes the paths that systemd would change', () => {
    const text = unitText(inputs('/srv/my 100% $net'), ['/opt/node', '--', '/opt/chancery.mjs'])
    expect(text).toContain(
      'ExecStart=/opt/node -- /opt/chancery.mjs authority start --env-file "/srv/my 100%% $$net/authority.env"',
    )
    expect(text).toContain('WorkingDirectory=/srv/my 100%% $net\n')
    expect(text).toContain('ReadWritePaths="/srv/my 100%% $net"\n')
    expect(text).toContain('ProtectHome=yes\nPrivateTmp=yes')
    expect(unitText(inputs('/home/team/na'), ['/opt/node'])).toContain('ProtectHome=no')
    expect(unitText(inputs('/tmp/na'), ['/opt/node'])).toContain('PrivateTmp=no')
  })

  it('a Compose file mounts the folder under its own path and publishes the chosen address only', () => {
    const { services } = parse(composeText(inputs('/srv/$net'))) as { services: { authority: object } }
    expect(services.authority).toMatchObject({
      user: '1001:1002',
      ports: ['127.0.0.1:8443:8443'],
      volumes: [{ source: '/srv/$$net', target: '/srv/$$net' }],
      read_only: true,
      cap_drop: ['ALL'],
    })
    expect(composeText(inputs('/srv/net', '::1'))).toContain('"[::1]:8443:8443"')
  })
})

describe('checks of the machine', () => {
  const statusOf = async (name: string, inputs: object): Promise<string | undefined> => {
    const base = { home: setup.folder, host: '127.0.0.1', port: await freePort(), now: NOW }
    return (await checkMachine({ ...base, ...inputs })).find(({ check }) => check === name)?.status
  }

  it('have the range of Node.js versions of package.json', async () => {
    const { engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } }
    expect(NODE_RANGE).toBe(engines.node)
    const versions = ['22.9.0', '24.18.9', '24.19.0', '25.0.0', '26.4.0', '26.5.0', '27.0.0']
    const found = await Promise.all(versions.map((nodeVersion) => statusOf('node.js', { nodeVersion })))
    expect(found).toEqual(['bad', 'bad', 'good', 'bad', 'bad', 'good', 'good'])
  })

  it('detect a clock in the past, and whether a time service runs', async () => {
    expect(await statusOf('clock', { now: 0n })).toBe('bad')
    expect(await statusOf('clock', { timeSyncFile: setup.path('missing') })).toBe('warn')
    expect(await statusOf('clock', { timeSyncFile: setup.folder })).toBe('good')
  })

  it('use the nearest folder that exists, and accept one that can be written', async () => {
    expect(await statusOf('write', { home: setup.path('a', 'b', 'c') })).toBe('good')
    expect(await statusOf('disk', { home: setup.path('a', 'b', 'c') })).not.toBe('bad')
    expect(await statusOf('write', { home: '/proc/chancery' })).toBe('bad')
  })
})

describe('the start of a service', () => {
  const never = new Promise<never>(() => undefined)
  const wait = (halts: readonly string[]) =>
    readyOrEnded({ isReady: () => Promise.resolve(false), findHalts: () => Promise.resolve(halts) }, never)

  it('ends the wait with the reasons of a halt, whatever their names are', async () => {
    expect(await wait(['mark_missing', 'other'])).toEqual({ halts: ['mark_missing', 'other'] })
  })

  it('continues to wait while nothing is halted', async () => {
    expect(await Promise.race([wait([]), setTimeout(1500, 'waits')])).toBe('waits')
  })
})
