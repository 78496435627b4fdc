import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

describe('readConfig', () => {
  it('makes paths absolute from the folder of the file', () => {
    const { paths } = readConfig('/etc/chancery/c.toml', '[paths]\ngenesis = "g.json"\ndb = "/etc/chancery/na.db"\n')
    expect(paths).toEqual({ genesis: join('/etc/chancery', 'g.json'), db: '/etc/chancery/na.db' })
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
    ['a file outside of its folder', '[paths]\ngenesis = "../other/g.json"', 'paths.genesis is outside of this folder'],
    ['an empty path', '[paths]\nhome = ""', 'paths.home must be a text'],
    ['a text for a section', 'network = "x"', 'network must be a section'],
  ])('refuses %s', (_name, text, problem) => {
    expect(() => readConfig('/etc/c.toml', text)).toThrow(problem)
  })

  it('reads nothing through the prototype', () => {
    expect(() => readConfig('/c.toml', '[network]\n__proto__ = "x"\n')).toThrow('/c.toml')
    expect(readConfig('/c.toml', '[toString]\na = "x"\n').warnings).toHaveLength(1)
  })
})
