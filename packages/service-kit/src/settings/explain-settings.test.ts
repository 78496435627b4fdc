import { describe, expect, it } from 'vitest'
import { type ExplainedSetting, explainSettings } from './explain-settings.ts'
import { integer, onOff, text } from './readers.ts'
import { setting } from './settings.ts'
import type { SettingSources } from './sources.ts'

const definitions = {
  size: setting({ name: 'APP_SIZE', flag: '--size', help: 'Size.', read: integer({ min: 1 }), default: 100 }),
  check: setting({ name: 'APP_CHECK', help: 'Check.', read: onOff, default: true, defaultText: 'on' }),
  names: setting({
    name: 'APP_NAMES',
    help: 'Names.',
    read: (value) => new Set(value.split(',')),
    default: new Set(['a']),
    defaultText: 'a',
  }),
  password: setting({ name: 'APP_PASSWORD', help: 'Password.', read: text, secret: true }),
  file: setting({ name: 'FILE', help: 'File.', read: text, required: true, sharedName: true }),
}

function explain(sources: Partial<SettingSources>): Record<string, ExplainedSetting | undefined> {
  const rows = explainSettings(definitions, { flags: {}, env: {}, ...sources })
  return Object.fromEntries(rows.map((row) => [row.name, row]))
}

const file = (content: string): { readonly path: string; readonly text: string } => ({ path: 'app.env', text: content })

describe('explained settings', () => {
  it('name the source that the start would use: flag, environment, file, default', () => {
    const rows = explain({
      flags: { '--size': '7' },
      env: { APP_SIZE: '8', APP_CHECK: 'off', FILE: '/environment' },
      envFile: file('APP_SIZE=9\nAPP_CHECK=on\nAPP_NAMES=b\nFILE=/file'),
    })
    expect(rows['APP_SIZE']).toMatchObject({ value: '7', origin: 'flag', default: '100', changed: true })
    expect(rows['APP_CHECK']).toMatchObject({ value: 'off', origin: 'environment', changed: true })
    expect(rows['APP_NAMES']).toMatchObject({ value: 'b', origin: 'file', changed: true })
    // A name that other programs read: the environment is not used next to a file.
    expect(rows['FILE']).toMatchObject({ value: '/file', origin: 'file' })
    expect(explain({ env: { FILE: '/environment' } })['FILE']).toMatchObject({
      value: '/environment',
      origin: 'environment',
    })
  })

  it('are unchanged when the default is given, whatever its type', () => {
    const rows = explain({ env: { APP_SIZE: '100', APP_CHECK: 'on', APP_NAMES: 'a' } })
    for (const name of ['APP_SIZE', 'APP_CHECK', 'APP_NAMES'])
      expect(rows[name], name).toMatchObject({ origin: 'environment', changed: false })
    expect(explain({})['APP_SIZE']).toEqual({
      name: 'APP_SIZE',
      value: '100',
      default: '100',
      origin: 'default',
      changed: false,
    })
    expect(explain({})['FILE']).toMatchObject({ value: null, origin: 'default', changed: false })
  })

  it('are changed when their value cannot be read', () => {
    expect(explain({ env: { APP_SIZE: 'many' } })['APP_SIZE']).toMatchObject({ value: 'many', changed: true })
  })

  it('never show a secret', () => {
    const rows = explain({ envFile: file('APP_PASSWORD=canary') })
    expect(rows['APP_PASSWORD']).toMatchObject({ value: '«set»', origin: 'file', changed: true })
    expect(JSON.stringify(rows)).not.toContain('canary')
    expect(explain({})['APP_PASSWORD']).toMatchObject({ value: null })
  })
})
