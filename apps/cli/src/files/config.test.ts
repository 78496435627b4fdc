import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NO_CONFIG, loadConfig, readConfig } from './config.ts'
import { TestContext } from '../testing/run-command.suite.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
  await mkdir(setup.path('user', '.chancery'), { recursive: true })
})
afterEach(() => setup.remove())

function named(name: string): string {
  return `[network]\nname = "${name}"\n`
}

async function nameFound(env: Record<string, string> = {}, given?: string): Promise<string | undefined> {
  const config = await loadConfig({ cwd: setup.folder, userHome: setup.path('user'), env, given })
  return config.network.name
}

describe('the search', () => {
  it('takes --config, then CHANCERY_CONFIG, then the folder, then the user', async () => {
    expect(await nameFound()).toBeUndefined()
    await writeFile(setup.path('user', '.chancery', 'config.toml'), named('user'))
    expect(await nameFound()).toBe('user')
    await writeFile(setup.path('chancery.toml'), named('folder'))
    expect(await nameFound()).toBe('folder')
    await writeFile(setup.path('env.toml'), named('env'))
    expect(await nameFound({ CHANCERY_CONFIG: 'env.toml' })).toBe('env')
    await writeFile(setup.path('given.toml'), named('given'))
    expect(await nameFound({ CHANCERY_CONFIG: 'env.toml' }, 'given.toml')).toBe('given')
  })

  it('refuses a named file that is not there', async () => {
    await expect(nameFound({}, 'gone.toml')).rejects.toThrow('gone.toml cannot be read: there is no such file')
    await expect(nameFound({ CHANCERY_CONFIG: 'gone.toml' })).rejects.toMatchObject({ code: 'file_error' })
  })

  it('does not pass over a file it cannot read', async () => {
    await mkdir(setup.path('chancery.toml'))
    await expect(nameFound()).rejects.toThrow('it is a folder')
  })

  it('does without any file', async () => {
    expect(await loadConfig({ cwd: setup.folder, userHome: setup.path('nobody'), env: {}, given: undefined })).toEqual(
      NO_CONFIG,
    )
  })
})

describe('readConfig', () => {
  it('makes paths absolute from the folder of the file', () => {
    const { paths } = readConfig('/etc/chancery/c.toml', '[paths]\ngenesis = "g.json"\ndb = "/var/na.db"\n')
    expect(paths).toEqual({ genesis: join('/etc/chancery', 'g.json'), db: '/var/na.db' })
  })

  it('reads every section', () => {
    const text =
      '[network]\nversion = "v0.1"\n[na]\nkey_id = "na"\nhost = "::1"\nport = 8443\n[operator]\nkey_id = "ops-1"\n'
    expect(readConfig('/c.toml', text)).toMatchObject({
      network: { version: 'v0.1' },
      na: { key_id: 'na', host: '::1', port: '8443' },
      operator: { key_id: 'ops-1' },
      warnings: [],
    })
  })

  it('warns of unknown names', () => {
    const { warnings } = readConfig('/c.toml', '[network]\nna_endpiont = "x"\n[oprator]\nkey_id = "y"\n')
    expect(warnings).toEqual([
      '/c.toml: network.na_endpiont is not a known name',
      '/c.toml: [oprator] is not a known section',
    ])
  })

  it.each([
    ['not TOML', '[network\nname = 1', 'line 1'],
    ['a number for a text', '[network]\nname = 1', 'network.name must be a text'],
    ['an empty path', '[paths]\nhome = ""', 'paths.home must be a text'],
    ['a text for a section', 'network = "x"', 'network must be a section'],
  ])('refuses %s', (_name, text, problem) => {
    expect(() => readConfig('/c.toml', text)).toThrow(problem)
  })

  it('reads nothing through the prototype', () => {
    expect(() => readConfig('/c.toml', '[network]\n__proto__ = "x"\n')).toThrow('/c.toml')
    expect(readConfig('/c.toml', '[toString]\na = "x"\n').warnings).toHaveLength(1)
  })
})
