import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireValues } from '@chancery/service-kit'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuthoritySettings, readAuthoritySettings } from './authority-settings.ts'
import { MINIMAL, problemsOf, read } from './read-settings.suite.ts'

describe('settings of operators', () => {
  let folder: string
  let key: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-settings-'))
    key = (await testSigner('op')).publicKey
    await writeFile(join(folder, 'ops.pub'), `# Ed25519 Public Key\r\n# Key ID: ops-file\r\n${key}\r\n`)
    await writeFile(join(folder, 'broken.pub'), 'nothing\n')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const withFlags = (keys: string[], tiers: string[]): AuthoritySettings =>
    requireValues(
      readAuthoritySettings({ flags: { '--operator-public-key': keys, '--operator-key-tier': tiers }, env: MINIMAL }),
    )

  it('take a key and its tier from JSON', () => {
    const { operators } = read({
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'ops-1': key }),
      OPERATOR_KEY_TIERS_JSON: '{"ops-1":"privileged"}',
    })
    expect(operators.get('ops-1')).toMatchObject({ publicKey: key, tier: 'privileged' })
  })

  it('take keys and tiers of flags in addition to those of the variables', async () => {
    const other = (await testSigner('op-2')).publicKey
    const env = {
      ...MINIMAL,
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'ops-1': key, 'ops-2': other }),
      OPERATOR_KEY_TIERS_JSON: '{"ops-1":"privileged","ops-2":"standard"}',
    }
    const tiersWith = (flags: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
      [...requireValues(readAuthoritySettings({ flags, env })).operators.values()].map(({ key_id, tier }) => [
        key_id,
        tier,
      ])
    expect(tiersWith({ '--operator-key-tier': 'ops-2=privileged' })).toEqual([
      ['ops-1', 'privileged'],
      ['ops-2', 'privileged'],
    ])
    const third = { '--operator-public-key': `ops-3=${key}`, '--operator-key-tier': 'ops-3=standard' }
    expect(tiersWith(third).map(([id]) => id)).toEqual(['ops-1', 'ops-2', 'ops-3'])
  })

  it('take keys and tiers from an operators file', async () => {
    const file = join(folder, 'operators.json')
    const listed = { key_id: 'ops-1', public_key: key, tier: 'standard' }
    await writeFile(file, JSON.stringify({ operators: [listed] }))
    const { operators, operatorsFile } = read({ OPERATOR_PUBLIC_KEYS_JSON: file })
    expect(operatorsFile).toBe(file)
    expect(operators.get('ops-1')).toMatchObject({ publicKey: key, tier: 'standard' })
    const withTiers = { OPERATOR_PUBLIC_KEYS_JSON: file, OPERATOR_KEY_TIERS_JSON: '{"ops-1":"privileged"}' }
    expect(problemsOf(() => read(withTiers)).join()).toContain('the operators file has the tiers')
    await writeFile(file, JSON.stringify({ operators: [{ ...listed, tier: 'root' }] }))
    expect(problemsOf(() => read({ OPERATOR_PUBLIC_KEYS_JSON: file })).join()).toContain('no operators file')
    expect(problemsOf(() => read({ OPERATOR_PUBLIC_KEYS_JSON: join(folder, 'gone') })).join()).toContain('can be read')
  })

  it('take repeated flags with base64 or a .pub file', async () => {
    const other = (await testSigner('other')).publicKey
    const { operators } = withFlags(
      [`ops-1=${join(folder, 'ops.pub')}`, `ops-2=${other}`],
      ['ops-1=standard', 'ops-2=privileged'],
    )
    expect([...operators.values()].map((each) => [each.key_id, each.publicKey, each.tier])).toEqual([
      ['ops-1', key, 'standard'],
      ['ops-2', other, 'privileged'],
    ])
  })

  it.each<[string, string[], string[]]>([
    ['a file that is no key', ['ops-1=BROKEN'], ['ops-1=standard']],
    ['an id given twice', ['ops-1=KEY', 'ops-1=KEY'], ['ops-1=standard']],
    ['no id', ['=KEY'], []],
    ['no key', ['ops-1='], []],
    ['no sign between', ['ops-1'], []],
    ['no tier', ['ops-1=KEY'], []],
    ['an unknown tier', ['ops-1=KEY'], ['ops-1=root']],
    ['a tier without a key', ['ops-1=KEY'], ['ops-1=standard', 'ops-2=standard']],
    ['a tier given twice', ['ops-1=KEY'], ['ops-1=standard', 'ops-1=privileged']],
  ])('refuse flags with %s', (_what, keys, tiers) => {
    const filled = keys.map((text) => text.replace('KEY', key).replace('BROKEN', join(folder, 'broken.pub')))
    expect(problemsOf(() => withFlags(filled, tiers)).join('\n')).toMatch(/^OPERATOR_/)
  })
})
