import { type JsonObject, readJson, toUtf8, writeJson } from '@chancery/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { CARD, type CardNetwork, cardNetwork, changed } from './card.suite.ts'
import { canonicalCard, cardProblems } from './form.ts'
import { CardFormError, signAgentCard } from './sign.ts'

// Loaded by name: their types need those of express, which is not installed.
const [A2A, JCS]: readonly string[] = ['@a2a-js/sdk', 'canonicalize']
let sdkForm: (card: unknown) => string
let jcs: (value: unknown) => string
let own: CardNetwork
beforeAll(async () => {
  const sdk = (await import(A2A ?? '')) as { canonicalizeAgentCard: typeof sdkForm }
  sdkForm = sdk.canonicalizeAgentCard
  jcs = ((await import(JCS ?? '')) as { default: typeof jcs }).default
  own = await cardNetwork('agency')
})

/** What three writers make of a card: ours, the A2A library, and RFC 8785 alone. */
function threeForms(card: JsonObject): readonly string[] {
  const { signatures: _signatures, ...unsigned } = JSON.parse(writeJson(card)) as JsonObject
  return [canonicalCard(unsigned), sdkForm(unsigned), jcs(unsigned)]
}

describe('the signed bytes of a card', () => {
  it('are the same of three writers for a signed card', async () => {
    const signed = await signAgentCard(CARD, { signer: own.node, certificate: own.certificate, crl: 'https://n/crl' })
    const [ours, ...others] = threeForms(signed)
    expect(others).toEqual([ours, ours])
    expect(toUtf8(ours ?? '')[0]).toBe(0x7b)
  })

  it('begin with the members in the order of RFC 8785', () => {
    expect(canonicalCard(readJson('{"b":["é\\u000a",true],"a":{"Z":"\\u2028","A":"/"}}'))).toBe(
      '{"a":{"A":"/","Z":"\u2028"},"b":["é\\n",true]}',
    )
  })

  const EXTENSION = { uri: 'urn:x', params: { a: 'b' } }
  it.each<[string, readonly (string | number)[], unknown, string]>([
    ['an empty text', ['documentationUrl'], '', 'documentationUrl is empty'],
    ['an empty list', ['skills', 0, 'examples'], [], 'skills[0].examples is empty'],
    ['an empty object', ['securityRequirements', 0, 'schemes', 'a'], {}, 'securityRequirements[0].schemes.a is empty'],
    ['null', ['capabilities', 'extensions'], [{ ...EXTENSION, params: { a: null } }], 'params.a is empty'],
    [
      'an empty text in params',
      ['capabilities', 'extensions'],
      [{ ...EXTENSION, params: { a: [''] } }],
      'a[0] is empty',
    ],
    [
      'a flag with its default',
      ['capabilities', 'extensions'],
      [{ ...EXTENSION, required: false }],
      'required must be true',
    ],
    ['a member of A2A 0.3', ['url'], 'https://x', 'url is not a member of A2A 1.0'],
    ['a member in snake case', ['icon_url'], 'https://x', 'icon_url is not a member of A2A 1.0'],
    ['a flag as a text', ['name'], true, 'name must be a text'],
    [
      'two schemes in one',
      ['securitySchemes', 'z', 'mtlsSecurityScheme'],
      { description: 'x' },
      'securitySchemes.z must have one member only',
    ],
  ])('differ for %s, which is refused', async (_what, path, value, problem) => {
    const card = changed(CARD, path, value)
    expect(new Set(threeForms(card)).size).toBeGreaterThan(1)
    expect(cardProblems(card).join('; ')).toContain(problem)
    const signing = signAgentCard(card, { signer: own.node, certificate: own.certificate })
    await expect(signing).rejects.toThrow(CardFormError)
  })

  it.each<[string, string, string]>([
    ['a number', '{"n":1}', 'params.n is a number: write it as a text'],
    ['a number with a point', '{"n":1.0}', 'params.n is a number'],
    ['a name outside ASCII', '{"ü":"x"}', 'params.ü: use a name of ASCII characters'],
    ['a name that JavaScript loses', '{"__proto__":"x"}', 'use a name of ASCII characters'],
    ['an empty name', '{"":"x"}', 'use a name of ASCII characters'],
  ])('are refused with %s in the params of an extension', (_what, params, problem) => {
    const extensions = [{ uri: 'urn:x', params: readJson(params) }]
    expect(cardProblems({ ...CARD, capabilities: { extensions } }).join()).toContain(problem)
  })

  it.each([
    'name',
    'description',
    'version',
    'supportedInterfaces',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
  ])('need the member %s', (name) => {
    expect(cardProblems(changed(CARD, [name], undefined))).toContain(`${name} is missing: A2A 1.0 requires it`)
  })

  it('name at most eight problems of a card', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_each, index) => [`x${index}`, '']))
    expect(cardProblems({ ...CARD, ...many })).toHaveLength(8)
  })
})
