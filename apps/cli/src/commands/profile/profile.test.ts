import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeAll(async () => {
  setup = await TestContext.make()
  await mkdir(setup.path('empty'))
  await mkdir(setup.path('elsewhere'))
  for (const name of ['one', 'two']) {
    await mkdir(setup.path(name))
    await writeFile(setup.path(name, 'chancery.toml'), `[network]\nname = "NET-${name}"\n[paths]\nhome = "."\n`)
  }
})
afterAll(() => setup.remove())

async function inUse(cwd = setup.path('elsewhere')): Promise<unknown> {
  return (await setup.run('use --json', { cwd })).json()['network']
}

describe('use', () => {
  it('says that nothing is in use, and how to choose', async () => {
    const { code, stdout } = await setup.run('use')
    expect(code).toBe(0)
    expect(stdout).toContain('chancery use <dir>')
  })

  it('chooses the network of later commands, in any folder', async () => {
    const { code, stdout } = await setup.run('use one')
    expect(code).toBe(0)
    expect(stdout).toContain('NET-one')
    expect(await inUse()).toBe('NET-one')
    expect((await setup.run(['use', setup.path('two', 'chancery.toml')])).code).toBe(0)
    expect(await inUse()).toBe('NET-two')
  })

  it('yields to a configuration that is nearer, and notes it', async () => {
    expect(await inUse(setup.path('one'))).toBe('NET-one')
    expect((await setup.run('use ../two', { cwd: setup.path('one') })).stderr).toContain('takes precedence')
    const env = { CHANCERY_CONFIG: setup.path('one', 'chancery.toml') }
    expect((await setup.run('use --json', { env })).json()['network']).toBe('NET-one')
  })

  it('comes before the configuration file of the user', async () => {
    await writeFile(setup.path('user', '.chancery', 'config.toml'), '[network]\nname = "OWN"\n')
    expect(await inUse()).toBe('NET-two')
    expect((await setup.run('use --none')).stdout).toContain('Removed')
    expect(await inUse()).toBe('OWN')
    expect((await setup.run('use --none')).stdout).toContain('There was no default.')
  })

  it.each([
    ['gone', 'gone cannot be read', 'Check the path.'],
    ['empty', 'empty has no chancery.toml', 'chancery init or chancery join'],
    ['one --none', 'not both', 'See: chancery use --help'],
  ])('refuses %s and says what to do', async (words, problem, hint) => {
    const { code, stderr } = await setup.run(`use ${words}`)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(problem)
    expect(stderr).toContain(hint)
  })

  it('names the way out when the chosen file is gone', async () => {
    await writeFile(setup.path('user', '.chancery', 'profile'), `${setup.path('gone', 'chancery.toml')}\n`)
    const { code, stderr } = await setup.run('nodes')
    expect(code).toBe(2)
    expect(stderr).toContain('chancery use --none')
    await setup.run('use --none')
  })
})

describe('version', () => {
  it.each(['-v', '--version'])('%s prints the version only', async (flag) => {
    expect((await setup.run(flag)).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('is also a command', async () => {
    expect((await setup.run('version')).stdout).toMatch(/^chancery \d+\.\d+\.\d+, Node\.js \d+/)
    expect((await setup.run('version --json')).json()).toEqual({
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
      execFile(process.execPath, ['--import', fake, program, 'version'], (error, _stdout, stderr) => {
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
