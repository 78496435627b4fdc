import { toBase64 } from '@chancery/protocol'
import { WEAK_POINTS } from '@chancery/protocol/vectors/weak-keys.ts'
import { testSigner } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { buildKeyring, satisfiesTier, sharedPublicKeys } from './operator-keys.ts'

const key = async (name: string): Promise<string> => (await testSigner(name)).publicKey
const hexKey = (hex: string): string => toBase64(Uint8Array.from(Buffer.from(hex, 'hex')))

describe('the operator keyring', () => {
  it('accepts keys with their tier', async () => {
    const [a, b] = [await key('a'), await key('b')]
    const { ring, problems } = buildKeyring(
      new Map([
        ['ops-1', a],
        ['team/ops:2@home', b],
      ]),
      new Map([
        ['ops-1', 'privileged'],
        ['team/ops:2@home', 'standard'],
      ]),
    )
    expect(problems).toEqual([])
    expect([...ring.values()].map(({ key_id, publicKey, tier }) => [key_id, publicKey, tier])).toEqual([
      ['ops-1', a, 'privileged'],
      ['team/ops:2@home', b, 'standard'],
    ])
  })

  it('names all problems at once: no tier, unknown tier, malformed key, a tier without a key', async () => {
    const { problems } = buildKeyring(
      new Map([
        ['no-tier', await key('a')],
        ['odd-tier', await key('b')],
        ['read-tier', await key('c')],
        ['bad-key', 'AAAA'],
      ]),
      new Map([
        ['odd-tier', 'root'],
        ['read-tier', 'read'],
        ['bad-key', 'standard'],
        ['ghost', 'standard'],
      ]),
    )
    expect(problems).toHaveLength(5)
    for (const id of ['no-tier', 'odd-tier', 'read-tier', 'bad-key', 'ghost']) {
      expect(
        problems.filter((problem) => problem.includes(id)),
        id,
      ).toHaveLength(1)
    }
  })

  it('recognises all fourteen spellings of the points of small order', () => {
    expect(new Set(WEAK_POINTS).size).toBe(14)
  })

  it.each([
    ...WEAK_POINTS.map((hex): [string, string] => ['of small order', hex]),
    // (x, y) + (0, -1) = (-x, -y): on the curve, not of small order, of order 2L.
    ['of mixed order', '9599999999999999999999999999999999999999999999999999999999999999'],
    ['y at the prime plus 2', `ef${'ff'.repeat(30)}7f`],
    ['not on the curve', `02${'00'.repeat(31)}`],
  ])('refuses a key %s: %s', (_what, hex) => {
    const { ring, problems } = buildKeyring(new Map([['ops-weak', hexKey(hex)]]), new Map([['ops-weak', 'standard']]))
    expect(ring.size).toBe(0)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain('ops-weak')
  })

  it.each([
    '',
    'x',
    ' pMuHQ3p1+N4iK7k067k2RF6L275pcjSiBepQZtAkl+A=',
    'pMuHQ3p1+N4iK7k067k2RF6L275pcjSiBepQZtAkl+A',
    'pMuHQ3p1-N4iK7k067k2RF6L275pcjSiBepQZtAkl-A=',
    'pMuHQ3p1+N4iK7k067k2RF6L275pcjSiBepQZtAkl+B=',
  ])('refuses the text «%s» as a key', (text) => {
    expect(buildKeyring(new Map([['ops-1', text]]), new Map([['ops-1', 'standard']])).problems).toHaveLength(1)
  })

  it('ranks standard below privileged', () => {
    expect(satisfiesTier('privileged', 'standard')).toBe(true)
    expect(satisfiesTier('privileged', 'privileged')).toBe(true)
    expect(satisfiesTier('standard', 'standard')).toBe(true)
    expect(satisfiesTier('standard', 'privileged')).toBe(false)
  })

  it('finds ids that share one public key', async () => {
    const [a, b] = [await key('a'), await key('b')]
    const tiers = new Map(['one', 'two', 'three'].map((id) => [id, 'standard']))
    const { ring } = buildKeyring(
      new Map([
        ['one', a],
        ['two', b],
        ['three', a],
      ]),
      tiers,
    )
    expect(sharedPublicKeys(ring)).toEqual(['one, three'])
  })
})
