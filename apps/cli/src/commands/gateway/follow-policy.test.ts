import type { Crl, JsonObject } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { followNetwork, issuersOf } from './follow-policy.ts'

const list = (issuer: string, sequence: number): Crl =>
  ({ issuer, sequence, revoked_certificates: [] }) as unknown as Crl
const BEFORE: JsonObject = {
  anchors: { 'na-1': 'AAA=' },
  crl: list('na-1', 4),
  minimum_crl_sequence: 4,
  crl_url: 'https://na.example.org/crl',
  refresh_seconds: 30,
  required_roles: ['role:client'],
  root_public_key: 'RRR=',
}
const NEXT = {
  publicKey: 'BBB=',
  list: list('na-2', 9),
  origin: 'https://na.example.org',
  withoutList: new Set<string>(),
  formerKeys: [],
  rootKey: 'RRR=',
}

it('pins the new key in addition to the old one, each with the address of its own list', () => {
  const { entry, change } = followNetwork(BEFORE, NEXT)
  expect(change).toBe('added')
  expect(entry).toEqual({
    ...BEFORE,
    crl_url: 'https://na.example.org/crl/keys/na-1',
    additional_issuers: {
      'na-2': {
        anchors: { 'na-2': 'BBB=' },
        crl: NEXT.list,
        minimum_crl_sequence: 9,
        crl_url: 'https://na.example.org/crl/keys/na-2',
        refresh_seconds: 30,
      },
    },
  })
  expect(followNetwork(entry, { ...NEXT, list: list('na-2', 12) }).change).toBe('unchanged')
})

it('makes it the issuer of the network once the old one is retired, and keeps the rest', () => {
  const { entry } = followNetwork(BEFORE, NEXT)
  const promoted = followNetwork(entry, { ...NEXT, withoutList: new Set(['na-1']) })
  expect(promoted.change).toBe('promoted')
  expect(promoted.entry).toEqual({
    anchors: { 'na-2': 'BBB=' },
    crl: NEXT.list,
    minimum_crl_sequence: 9,
    crl_url: 'https://na.example.org/crl/keys/na-2',
    refresh_seconds: 30,
    required_roles: ['role:client'],
    root_public_key: 'RRR=',
  })
  expect(followNetwork(promoted.entry, NEXT).change).toBe('unchanged')
})

it('drops an issuer without a list after an undone succession, and only issuers of this authority', () => {
  const { entry } = followNetwork(BEFORE, NEXT)
  const elsewhere = { anchors: { other: 'CCC=' }, crl: list('other', 1), crl_url: 'https://other.example/crl' }
  const pinned = { ...entry, additional_issuers: { ...(entry['additional_issuers'] as JsonObject), other: elsewhere } }
  expect(issuersOf(pinned, NEXT.origin)).toEqual(['na-1', 'na-2'])
  const back = { ...NEXT, publicKey: 'AAA=', list: list('na-1', 12), withoutList: new Set(['na-2']) }
  const undone = followNetwork(pinned, back)
  expect(undone.change).toBe('dropped')
  expect(undone.entry).toEqual({ ...entry, additional_issuers: { other: elsewhere } })
  expect(followNetwork(undone.entry, back).change).toBe('unchanged')
  expect(followNetwork(entry, back).entry).toEqual({ ...BEFORE, crl_url: 'https://na.example.org/crl/keys/na-1' })
})

it('records the former keys of the history, and changes nothing when it has them', () => {
  const former = { key_id: 'na-1', public_key: 'AAA=', valid_from: 'a', valid_to: 'b' }
  const { entry } = followNetwork(BEFORE, { ...NEXT, formerKeys: [former] })
  const promoted = followNetwork(entry, { ...NEXT, formerKeys: [former], withoutList: new Set(['na-1']) })
  expect(promoted.entry).toMatchObject({ anchors: { 'na-2': 'BBB=' }, former_keys: [former] })
  expect(followNetwork(promoted.entry, { ...NEXT, formerKeys: [former] }).change).toBe('unchanged')
  // The root may end the time of a former key earlier.
  const shorter = { ...former, valid_to: 'a2' }
  const again = followNetwork(promoted.entry, { ...NEXT, formerKeys: [shorter] })
  expect(again).toEqual({ change: 'recorded', entry: { ...promoted.entry, former_keys: [shorter] } })
})

it('pins the root key of a policy of an earlier release', () => {
  const { root_public_key: _pin, ...before } = BEFORE
  const current = { ...NEXT, publicKey: 'AAA=', list: list('na-1', 4) }
  expect(followNetwork(before, current)).toEqual({ change: 'pinned', entry: BEFORE })
  expect(followNetwork(BEFORE, current).change).toBe('unchanged')
})
