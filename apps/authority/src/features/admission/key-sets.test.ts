import { type AdmissionRule, type JsonObject, readAdmissionTerms } from '@chancery/protocol'
import { silentLog } from '@chancery/service-kit'
import { ManualClock } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { KeySets } from './key-sets.ts'
import { type IssuerKey, TestIssuer, newIssuerKey } from './test-issuer.suite.ts'

const clock = new ManualClock()
const issuer = new TestIssuer()
let first: IssuerKey
let second: IssuerKey
let rule: AdmissionRule
let sets: KeySets

beforeAll(async () => {
  await issuer.start()
  first = await newIssuerKey('first', 'ES256')
  second = await newIssuerKey('second', 'ES256')
  const facts = { network_name: 'n', created_by: 'op', issued_at: '2030-01-01T00:00:00Z', issued_by: 'na' }
  const terms = {
    rule_id: 'r',
    kind: 'oidc',
    issuer: issuer.url,
    jwks_url: issuer.url,
    required_claims: { sub: ['x'] },
  }
  rule = { ...readAdmissionTerms(terms, ''), ...facts, signatures: [] }
})
afterAll(() => issuer.stop())
beforeEach(() => {
  issuer.calls = 0
  issuer.serve(first)
  const settings = { admissionAddresses: 'loopback' as const, admissionRoots: [issuer.ca.cert] }
  sets = new KeySets({ clock, log: silentLog, settings })
})

const idsOf = (keys: readonly JsonObject[] | undefined): readonly unknown[] | undefined => keys?.map(({ kid }) => kid)

it('a request without keys waits for the call of another', async () => {
  const [one, two] = await Promise.all([sets.find(rule), sets.find(rule)])
  expect([idsOf(one), idsOf(two)]).toEqual([['first'], ['first']])
  expect(issuer.calls).toBe(1)
})

it('a request with an unknown key id waits for the call of another', async () => {
  await sets.find(rule)
  issuer.serve(first, second)
  clock.advance(60)
  const [one, two] = await Promise.all([sets.findAgain(rule), sets.findAgain(rule)])
  expect([idsOf(one), idsOf(two)]).toEqual([
    ['first', 'second'],
    ['first', 'second'],
  ])
  expect(issuer.calls).toBe(2)
})

it('a request with usable keys does not wait', async () => {
  await sets.find(rule)
  issuer.serve(second)
  clock.advance(300)
  const [one, two] = await Promise.all([sets.find(rule), sets.find(rule)])
  expect([idsOf(one), idsOf(two)]).toEqual([['second'], ['first']])
})

it('a failed call leaves all that wait without keys, and is not repeated at once', async () => {
  issuer.status = 503
  expect(await Promise.all([sets.find(rule), sets.find(rule), sets.find(rule)])).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  issuer.status = 200
  expect(await sets.find(rule)).toBeUndefined()
  expect(issuer.calls).toBe(1)
})

it('256 requests wait, and the next ones are refused', async () => {
  const found = await Promise.all(Array.from({ length: 260 }, () => sets.find(rule)))
  expect(found.map((keys) => keys !== undefined)).toEqual(Array.from({ length: 260 }, (_, at) => at < 257))
})
