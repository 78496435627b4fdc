// oxlint-disable max-lines -- one table of what a start refuses
import { describe, expect, expectTypeOf, it } from 'vitest'
import { SettingError, integer, jsonTextMap, oneOf, onOff, text } from './readers.ts'
import { type SettingSources, findVariable } from './sources.ts'
import { describeSettings, readProcessSettings, readSettings, requireValues, setting } from './settings.ts'
import type { SettingsResult, SettingValues } from './settings.ts'

const definitions = {
  maxBytes: setting({
    name: 'APP_MAX_BYTES',
    flag: '--max-bytes',
    help: 'Largest body.',
    read: integer({ min: 1 }),
    default: 100,
  }),
  file: setting({ name: 'FILE', help: 'What to read.', read: text, required: true }),
  mode: setting({ name: 'APP_MODE', help: 'How.', read: oneOf('fast', 'safe'), default: 'safe' }),
  check: setting({ name: 'APP_CHECK', help: 'Whether.', read: onOff, default: true }),
  url: setting({ name: 'URL', help: 'Where.', read: (value) => new URL(value), secret: true }),
  keys: setting({
    name: 'KEYS_JSON',
    flag: '--key',
    help: 'Names and values.',
    read: jsonTextMap,
    readFlags: (texts): ReadonlyMap<string, string> => new Map(texts.map((entry) => [entry, entry])),
    default: new Map(),
  }),
}
const rules = { prefixes: ['APP_'] }

function result(
  sources: Partial<SettingSources>,
  extraNames: readonly string[] = [],
): SettingsResult<SettingValues<typeof definitions>> {
  const reading = readSettings(definitions, { flags: {}, env: {}, ...sources }, { ...rules, extraNames })
  return reading.finish((values) => values)
}

const read = (...args: Parameters<typeof result>) => requireValues(result(...args))
const problems = (sources: Partial<SettingSources>): readonly string[] => result(sources).problems

describe('readSettings', () => {
  it('infers the type of every value from its definition', () => {
    const values = read({ env: { FILE: 'f' } })
    expectTypeOf(values.maxBytes).toEqualTypeOf<number>()
    expectTypeOf(values.file).toEqualTypeOf<string>()
    expectTypeOf(values.mode).toEqualTypeOf<'fast' | 'safe'>()
    expectTypeOf(values.check).toEqualTypeOf<boolean>()
    expectTypeOf(values.url).toEqualTypeOf<URL | undefined>()
    expectTypeOf(values.keys).toEqualTypeOf<ReadonlyMap<string, string>>()
    expect(values).toEqual({ maxBytes: 100, file: 'f', mode: 'safe', check: true, url: undefined, keys: new Map() })
  })

  it.each<[string, Partial<SettingSources>, number]>([
    ['the default', {}, 100],
    ['the variable over the default', { env: { APP_MAX_BYTES: '2' } }, 2],
    ['the flag over the variable', { env: { APP_MAX_BYTES: '2' }, flags: { '--max-bytes': '3' } }, 3],
    ['the flag over the file', { envFile: { path: 'f', text: 'APP_MAX_BYTES=2' }, flags: { '--max-bytes': '3' } }, 3],
    ['the file', { envFile: { path: 'f', text: 'APP_MAX_BYTES=2' } }, 2],
    [
      'the environment when the file lacks the setting',
      { env: { APP_MAX_BYTES: '2' }, envFile: { path: 'f', text: '' } },
      2,
    ],
    [
      'the environment over the file',
      { env: { APP_MAX_BYTES: '2' }, envFile: { path: 'f', text: 'APP_MAX_BYTES=4' } },
      2,
    ],
    [
      'the flag over both',
      {
        env: { APP_MAX_BYTES: '2' },
        envFile: { path: 'f', text: 'APP_MAX_BYTES=4' },
        flags: { '--max-bytes': '3' },
      },
      3,
    ],
  ])('takes %s', (_name, sources, value) => {
    const env = { FILE: 'f', ...sources.env }
    const envFile = sources.envFile && { path: 'f', text: `FILE=f\n${sources.envFile.text}` }
    expect(read({ ...sources, env, ...(envFile && { envFile }) }).maxBytes).toBe(value)
  })

  it('takes a name that other programs read too from the file only, when there is one', () => {
    const shared = { port: setting({ name: 'PORT', help: '', read: text, default: 'none', sharedName: true }) }
    const port = (env: Record<string, string>, file?: string): string =>
      readSettings(
        shared,
        { flags: {}, env, ...(file === undefined ? {} : { envFile: { path: 'f', text: file } }) },
        rules,
      ).values.port
    expect(port({ PORT: '1' })).toBe('1')
    expect(port({ PORT: '1' }, 'PORT=2')).toBe('2')
    expect(port({ PORT: '1' }, '')).toBe('none')
  })

  it('names the environment as the source of an invalid value, and ignores unknown names there', () => {
    const envFile = { path: 'x', text: 'FILE=f\nAPP_MODE=fast' }
    expect(problems({ env: { APP_MODE: 'slow', APP_SERVICE_HOST: '10.0.0.1' }, envFile })).toEqual([
      'APP_MODE: in the environment must be one of: fast, safe (given: "slow")',
    ])
  })

  it('passes repeated flags to their own reader', () => {
    expect(read({ env: { FILE: 'f' }, flags: { '--key': ['a', 'b'] } }).keys).toEqual(
      new Map([
        ['a', 'a'],
        ['b', 'b'],
      ]),
    )
    expect(read({ env: { FILE: 'f' }, flags: { '--key': 'a' } }).keys).toEqual(new Map([['a', 'a']]))
  })

  it.each<[string, Partial<SettingSources>, string]>([
    ['a missing required setting', { env: {} }, 'FILE: is required'],
    [
      'an unknown name with our prefix',
      { env: { FILE: 'f', APP_MAX_BYTE: '1' } },
      'APP_MAX_BYTE: there is no such setting',
    ],
    ['the same in a file', { envFile: { path: 'x', text: 'FILE=f\nAPP_X=1' } }, 'APP_X: there is no such setting'],
    ['an unknown flag', { env: { FILE: 'f' }, flags: { '--max-byte': '1' } }, '--max-byte: there is no such setting'],
    [
      'a value that does not parse',
      { env: { FILE: 'f', APP_MAX_BYTES: 'ten' } },
      'APP_MAX_BYTES: must be a whole number from 1 (given: "ten")',
    ],
    ['an empty value', { env: { FILE: '' } }, 'FILE: must not be empty (given: "")'],
    [
      'a flag that does not parse',
      { env: { FILE: 'f' }, flags: { '--max-bytes': '0' } },
      'APP_MAX_BYTES: --max-bytes must be a whole number from 1 (given: "0")',
    ],
    [
      'a flag given twice',
      { env: { FILE: 'f' }, flags: { '--max-bytes': ['1', '1'] } },
      'APP_MAX_BYTES: --max-bytes must be given once',
    ],
    ['a platform error of a reader, without its text', { env: { FILE: 'f', URL: 'hunter2' } }, 'URL: cannot be read'],
    [
      'a file line it cannot read',
      { envFile: { path: 'x', text: 'FILE=f\nhunter2' } },
      'x line 2: must read NAME=value',
    ],
  ])('refuses %s', (_name, sources, problem) => {
    expect(problems(sources)).toEqual([problem])
  })

  it('ignores unknown names without the prefix', () => {
    expect(problems({ env: { FILE: 'f', PATH: '/bin', MY_APP_X: '1' } })).toEqual([])
    expect(problems({ envFile: { path: 'x', text: 'FILE=f\nOTHER=1' } })).toEqual([])
  })

  it('does not take a member of Object.prototype for a flag or a variable', () => {
    const odd = { odd: setting({ name: 'constructor', flag: 'toString', help: '', read: text }) }
    expect(readSettings(odd, { flags: {}, env: {} }, rules).values).toEqual({ odd: undefined })
  })

  it('accepts the listed extra names', () => {
    const sources = { env: { FILE: 'f', APP_RENAMED: 'x' }, flags: { '--env-file': 'x' } }
    expect(read(sources, ['APP_RENAMED', '--env-file']).file).toBe('f')
  })

  it.each<[string, Partial<SettingSources>]>([
    ['the environment', { env: { FILE: 'f', APP_OLD: 'hunter2' } }],
    ['the file', { envFile: { path: 'x', text: 'FILE=f\nAPP_OLD=hunter2' } }],
    ['the environment next to a file', { env: { APP_OLD: '' }, envFile: { path: 'x', text: 'FILE=f' } }],
    ['a flag', { env: { FILE: 'f' }, flags: { '--old': 'hunter2' } }],
  ])('refuses a former name in %s with the words of its line', (_name, sources) => {
    const formerNames = { APP_OLD: 'is APP_NEW', '--old': 'is APP_NEW' }
    const reading = readSettings(definitions, { flags: {}, env: {}, ...sources }, { ...rules, formerNames })
    const { problems: all, notes } = reading.finish((values) => values)
    expect(all).toEqual([`${sources.flags === undefined ? 'APP_OLD' : '--old'}: is APP_NEW`])
    expect(notes).toEqual([])
  })

  it('collects every problem, one line each', () => {
    const env = { APP_MAX_BYTES: '-1', APP_MODE: 'slow', APP_CHECK: 'yes', APP_X: '1', KEYS_JSON: '[]' }
    expect(problems({ env })).toEqual([
      'APP_X: there is no such setting',
      'APP_MAX_BYTES: must be a whole number from 1 (given: "-1")',
      'FILE: is required',
      'APP_MODE: must be one of: fast, safe (given: "slow")',
      'APP_CHECK: must be on or off (given: "yes")',
      'KEYS_JSON: must be a JSON object (given: "[]")',
    ])
    expect(() => read({ env })).toThrow(/^APP_X: .*\nAPP_MAX_BYTES: .*\nFILE: /)
  })

  it('cuts a shown value at 80 characters and escapes it', () => {
    expect(problems({ env: { FILE: 'f', APP_MODE: `\n${'x'.repeat(100)}` } })).toEqual([
      `APP_MODE: must be one of: fast, safe (given: "\\u000a${'x'.repeat(79)}…")`,
    ])
  })

  it('shows no part of a secret, even when its reader quotes it', () => {
    const secret = {
      token: setting({
        name: 'APP_TOKEN',
        help: '',
        secret: true,
        read: (value): string => {
          throw new SettingError(`bad ${value}`)
        },
      }),
      pin: setting({ name: 'APP_PIN', help: '', secret: true, read: integer({ max: 9 }) }),
    }
    const env = { APP_TOKEN: 'hunter2', APP_PIN: '1234' }
    expect(readSettings(secret, { flags: {}, env }, rules).finish((values) => values).problems).toEqual([
      'APP_TOKEN: cannot be read',
      'APP_PIN: must be a whole number up to 9',
    ])
  })

  it('adds problems between settings only when each of these settings was read', () => {
    const reading = readSettings(definitions, { flags: {}, env: { FILE: 'f', APP_MODE: 'slow' } }, rules)
    reading.addProblems(['mode', 'check'], ['APP_CHECK: does not go with this mode'])
    reading.addProblems(['file', 'check'], ['APP_CHECK: does not go with this file'])
    const { values, problems: all } = reading.finish((each) => each)
    expect(values).toBeUndefined()
    expect(all).toEqual([
      'APP_MODE: must be one of: fast, safe (given: "slow")',
      'APP_CHECK: does not go with this file',
    ])
  })

  it('reports no unknown name without rules, because the sources are for other readers too', () => {
    const { file } = definitions
    const sources = { flags: { '--other': 'x' }, env: { FILE: 'f', APP_X: '1' } }
    expect(readSettings({ file }, sources).finish((values) => values)).toEqual({
      values: { file: 'f' },
      problems: [],
      notes: [],
    })
  })
})

describe('findVariable', () => {
  it('follows the order of the sources', () => {
    const envFile = { path: 'x', text: 'A=file\nC=file' }
    expect(findVariable({ flags: {}, env: { A: 'env' } }, 'A')).toBe('env')
    expect(findVariable({ flags: {}, env: { A: 'env' }, envFile }, 'A')).toBe('env')
    expect(findVariable({ flags: {}, env: { A: 'env' }, envFile }, 'C')).toBe('file')
    expect(findVariable({ flags: {}, env: {}, envFile }, 'B')).toBeUndefined()
  })
})

describe('readProcessSettings', () => {
  it('reports a settings file that cannot be read, and reads nothing else', async () => {
    const readNone = (): never => expect.unreachable()
    expect(await readProcessSettings({ flags: {}, envFile: 'no/such\nfile' }, readNone)).toEqual({
      values: undefined,
      problems: ['--env-file: no/such\\u000afile cannot be read'],
      notes: [],
    })
  })
})

describe('notes', () => {
  const shared = { ...definitions, port: setting({ name: 'PORT', help: '', read: text, sharedName: true }) }
  const notes = (env: Record<string, string>, file?: string, flags: Record<string, string> = {}): readonly string[] => {
    const envFile = file === undefined ? {} : { envFile: { path: 'f', text: file } }
    return readSettings(shared, { flags, env, ...envFile }, rules).finish(() => undefined).notes
  }

  it('name each setting that is given twice with different values, and never a value', () => {
    const env = { URL: 'https://hunter2@a', APP_MODE: 'safe', FILE: 'same', PORT: '1', APP_X_SERVICE_HOST: 'hunter2' }
    const said = notes(env, 'URL=https://hunter3@a\nAPP_MODE=fast\nFILE=same\nPORT=2')
    expect(said).toEqual([
      'APP_MODE: the environment overrules the settings file',
      'URL: the environment overrules the settings file',
      'PORT: the environment is not used, with a settings file it comes from the file',
      'APP_X_SERVICE_HOST: is in the environment, and there is no such setting',
    ])
    expect(said.join()).not.toContain('hunter')
  })

  it('list nothing for a setting with one source, for one set by a flag, and without a file', () => {
    expect(notes({ APP_MODE: 'safe' }, 'FILE=f')).toEqual([])
    expect(notes({ APP_MAX_BYTES: '1' }, 'APP_MAX_BYTES=2', { '--max-bytes': '3' })).toEqual([])
    expect(notes({ APP_MODE: 'safe', PORT: '1' })).toEqual([])
  })
})

describe('describeSettings', () => {
  it('returns one row per setting', () => {
    const rows = describeSettings({
      ...definitions,
      store: setting({ name: 'STORE', help: 'Where to count.', read: text, defaultText: 'depends' }),
      pin: setting({ name: 'PIN', help: 'Secret.', read: text, secret: true, default: 'hunter2' }),
    })
    const row = { flag: undefined, secret: false, required: false, sharedName: false }
    expect(rows).toEqual([
      { ...row, name: 'APP_MAX_BYTES', flag: '--max-bytes', default: '100', help: 'Largest body.' },
      { ...row, name: 'FILE', default: undefined, help: 'What to read.', required: true },
      { ...row, name: 'APP_MODE', default: 'safe', help: 'How.' },
      { ...row, name: 'APP_CHECK', default: 'on', help: 'Whether.' },
      { ...row, name: 'URL', default: undefined, help: 'Where.', secret: true },
      { ...row, name: 'KEYS_JSON', flag: '--key', default: '{}', help: 'Names and values.' },
      { ...row, name: 'STORE', default: 'depends', help: 'Where to count.' },
      { ...row, name: 'PIN', default: '[secret]', help: 'Secret.', secret: true },
    ])
  })
})
