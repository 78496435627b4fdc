import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeAll(async () => {
  setup = await TestContext.make()
  const now = (): bigint => BigInt(Date.now()) * 1000n
  await mkdir(setup.path('empty'))
  await mkdir(setup.path('elsewhere'))
  for (const name of ['one', 'two']) await setup.run(`init --home ${name} --name NET-${name} --port 1`, { now })
})
afterAll(() => setup.remove())

async function selected(cwd = setup.path('elsewhere')): Promise<unknown> {
  return (await setup.run('use --json', { cwd })).json()['selected']
}

describe('use', () => {
  it('says that nothing is saved, and how to save a network', async () => {
    const { code, stdout } = await setup.run('use')
    expect(code).toBe(0)
    expect(stdout).toContain('No network is saved')
    const { code: refused, stderr } = await setup.run('node list', { cwd: setup.path('elsewhere') })
    expect([refused, stderr]).toEqual([2, expect.stringContaining('No network is selected.')])
  })

  it('saves and selects a folder, and selects a saved network by its name', async () => {
    expect((await setup.run('use one')).stdout).toContain('Using NET-one')
    expect((await setup.run('use two')).code).toBe(0)
    expect(await selected()).toBe('NET-two')
    expect((await setup.run('use NET-one', { cwd: setup.path('elsewhere') })).code).toBe(0)
    expect(await selected()).toBe('NET-one')
    const { items } = (await setup.run('use --json')).json()
    expect(items).toMatchObject([
      { name: 'NET-one', selected: true, home: setup.path('one') },
      { name: 'NET-two', selected: false },
    ])
  })

  it('notes what takes precedence', async () => {
    expect((await setup.run('use ../two', { cwd: setup.path('one') })).stderr).toContain('takes precedence')
    const env = { CHANCERY_HOME: setup.path('one') }
    expect((await setup.run('use NET-one', { env })).stderr).toContain('CHANCERY_HOME is set')
  })

  it('refuses a folder whose genesis block was changed since', async () => {
    await setup.run('use two')
    const text = await readFile(setup.path('one', 'genesis.json'), 'utf8')
    const own = await readFile(setup.path('two', 'genesis.json'), 'utf8')
    await writeFile(setup.path('two', 'genesis.json'), text)
    const { code, stderr } = await setup.run('node list', { cwd: setup.path('elsewhere') })
    await writeFile(setup.path('two', 'genesis.json'), own)
    expect([code, stderr]).toEqual([5, expect.stringContaining('has changed')])
  })

  it('removes a saved network, and keeps its files', async () => {
    expect((await setup.run('use --remove NET-two')).code).toBe(0)
    expect((await setup.run('use two')).code).toBe(0)
    expect((await setup.run('use --remove NET-none')).code).toBe(2)
  })

  it('saves a network elsewhere, with its genesis block', async () => {
    const line = 'use NET-one --url http://127.0.0.1:1 --genesis one/genesis.json'
    expect((await setup.run(line)).code).toBe(0)
    expect((await setup.run(line.replace('NET-one', 'NET-two'))).code).toBe(2)
  })

  it.each([
    ['gone', 'There is no network in gone'],
    ['empty', 'There is no network in empty'],
    ['one --remove NET-one', 'not both'],
  ])('refuses %s and says what to do', async (words, problem) => {
    const { code, stderr } = await setup.run(`use ${words}`)
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)])
  })

  it('refuses unknown members of its file, with the line', async () => {
    const file = setup.path('user', '.config', 'chancery', 'config.toml')
    const before = await readFile(file, 'utf8')
    await writeFile(file, 'selected = "A"\n\n[networks.A]\nhaus = "/a"\n')
    const { code, stderr } = await setup.run('use')
    await writeFile(file, before)
    expect([code, stderr]).toEqual([2, expect.stringContaining('line 4')])
  })
})

describe('--version', () => {
  it.each(['-v', '--version'])('%s prints the version only', async (flag) => {
    expect((await setup.run(flag)).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('prints the version of Node.js, too, in JSON', async () => {
    expect((await setup.run('--version --json')).json()).toEqual({
      version: expect.stringMatching(/^\d/) as unknown,
      node: process.versions.node,
    })
  })
})

describe('the program on an old Node.js', () => {
  const program = fileURLToPath(new URL('../../../bin/chancery.mjs', import.meta.url))
  const start = (node: string): Promise<{ code: unknown; stderr: string }> =>
    new Promise((resolve) => {
      const fake = `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'${node}'}})`
      execFile(process.execPath, ['--import', fake, program, '--version'], (error, _stdout, stderr) => {
        resolve({ code: error?.code ?? 0, stderr })
      })
    })

  it.each(['18.20.8', '22.1.0', '24.18.0', '25.9.0', '26.4.1'])('%s gets the version it needs', async (node) => {
    const { code, stderr } = await start(node)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: chancery needs Node\.js 26\.5 or later.* Install a newer version.*\n$/)
    expect(stderr).toContain(node)
  })

  it('needs what the repository says, in words that old parsers read', async () => {
    const root = await readFile(new URL('../../../../../package.json', import.meta.url), 'utf8')
    expect(root).toContain('"node": "^24.19.0 || >=26.5.0"')
    const text = await readFile(program, 'utf8')
    expect(text).not.toMatch(/^import |\bawait\b|\?\?|\?\.|=>/m)
  })
})
