import { hours } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { type Findings, clockState, describeClock, describeState, findNextStep, stateOf } from './node-state.ts'

/** 2030-01-02T03:00:00Z. */
const NOW = 1_893_553_200_000_000n

const GOOD: Findings = {
  now: NOW,
  certificate: {
    cert_id: 'c-1',
    node_public_key: 'k',
    network_name: 'N',
    roles: [],
    issued_at: '2030-01-02T03:00:00Z',
    expires_at: '2030-01-09T03:00:00Z',
    issued_by: 'na',
    signatures: [],
  },
  certificateProblem: undefined,
  revocation: { checked: true, sequence: 3, source: 'authority', entry: undefined },
  authorityProblem: undefined,
  clockOffsetSeconds: 0.3,
}

const LISTED = { reason: 'unspecified', revoked_at: '2030-01-02T03:00:00Z' }

const CASES: readonly (readonly [string, Partial<Findings>, string, boolean, string])[] = [
  ['all is well', {}, 'valid', true, 'chancery node run --home ./n'],
  [
    'the list was not checked',
    { revocation: { checked: false, why: 'x' } },
    'unchecked',
    false,
    'whether the certificate is revoked is not known',
  ],
  [
    'the list was not checked, as the authority does not respond',
    { revocation: { checked: false, why: 'x' }, authorityProblem: 'No answer.' },
    'unchecked',
    false,
    'does not respond; whether the certificate is revoked is not known',
  ],
  ['renewal is due', { now: NOW + hours(144) }, 'expiring', true, 'chancery node renew --home ./n'],
  ['it has expired', { now: NOW + hours(168) }, 'expired', false, 'chancery join --home ./n'],
  [
    'it is listed',
    { revocation: { checked: true, sequence: 3, source: 'kept', entry: LISTED } },
    'revoked',
    false,
    'why it was revoked',
  ],
  [
    'it is another’s',
    { certificateProblem: 'it belongs to another node key' },
    'not_ours',
    false,
    'do not use this certificate',
  ],
  ['there is none', { certificate: undefined }, 'missing', false, 'chancery invite create'],
  ['its validity has not started', { now: NOW - hours(1) }, 'not_yet_valid', false, 'correct the clock'],
  ['a little ahead', { now: NOW - 300_000_000n }, 'valid', true, 'nothing'],
  ['the clock is wrong', { clockOffsetSeconds: 301 }, 'valid', false, 'refuses every proof'],
  ['the clock is off', { clockOffsetSeconds: -31 }, 'valid', true, 'correct the clock'],
  [
    'the authority does not respond',
    { authorityProblem: 'No answer.', clockOffsetSeconds: undefined },
    'valid',
    false,
    'does not respond',
  ],
]

describe.each(CASES)('%s', (_name, change, state, ok, next) => {
  const findings = { ...GOOD, ...change }

  it(`is ${state}`, () => {
    expect(stateOf(findings)).toBe(state)
    expect(describeState(findings)).not.toBe('')
  })

  it('has a next step', () => {
    const nextStep = findNextStep(findings, '--home ./n')
    expect(nextStep).toEqual({ ok, next: expect.stringContaining(next) as string })
  })
})

describe('the clock', () => {
  it.each([
    [undefined, 'unknown', 'not compared'],
    [1.4, 'good', 'agrees with the authority'],
    [-12, 'good', '12 s behind the authority'],
    [30.5, 'off', '31 s ahead of the authority'],
    [-300, 'off', '300 s behind the authority'],
    [300.1, 'wrong', '300 s ahead of the authority: too far'],
  ])('%s s is %s', (offset, state, text) => {
    expect([clockState(offset), describeClock(offset)]).toEqual([state, text])
  })
})
