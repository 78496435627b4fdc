import type { NetworkFinding } from '@chancery/sdk/authority'
import { describe, expect, it } from 'vitest'
import { linkOf } from './links.ts'
import { calmOf, findNeeds, headlineOf } from './needs.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const inHours = (hours: number): string => new Date(NOW + hours * 3_600_000).toISOString().replace('.000Z', 'Z')

const finding = (check: string, more: Partial<NetworkFinding> = {}): NetworkFinding => ({
  check,
  status: 'warn',
  found: `The ${check}`,
  fix: 'Run chancery doctor.',
  effect: null,
  about: null,
  at: null,
  ...more,
})
const treaty = (about: string, hours: number): NetworkFinding =>
  finding('treaty', { about, at: inHours(hours), found: `The treaty with ${about} ends ${inHours(hours)}` })
const headline = (...found: readonly NetworkFinding[]): string => headlineOf(findNeeds(found, NOW), [], NOW)

describe('the rows of the overview', () => {
  it('are ordered by tone, then what ends first, and the time is not repeated in the title', () => {
    const needs = findNeeds(
      [
        finding('backup'),
        treaty('B', 60),
        treaty('A', 5),
        treaty('C', 30),
        finding('crl', { status: 'bad' }),
        finding('peer-feed', { status: 'bad', about: 'D', at: inHours(-80) }),
      ],
      NOW,
    )
    expect(needs.map(({ title, tone }) => [title, tone])).toEqual([
      ['The crl', 'bad'],
      ['The treaty with A ends', 'urgent'],
      ['The treaty with C ends', 'watch'],
      ['The treaty with B ends', 'watch'],
      ['The peer-feed', 'watch'],
      ['The backup', 'ended'],
    ])
  })

  it.each([
    ['policy-end', 2, 'urgent'],
    ['policy-end', 24 * 10, 'watch'],
    ['key-window', 24 * 20, 'ended'],
    ['key-window', 24 * 13, 'watch'],
    ['key-window', 24 * 2, 'urgent'],
  ])('%s in %i hours is %s', (check, hours, tone) => {
    expect(findNeeds([finding(check, { at: inHours(hours) })], NOW)[0]?.tone).toBe(tone)
  })
})

describe('the headline', () => {
  it('names the worst thing, in the order of the rules', () => {
    const all = [
      finding('nodes-silent', { found: '2 nodes are silent' }),
      finding('peer-feed', { about: 'A' }),
      treaty('A', 60),
      treaty('B', 5),
      finding('crl', { status: 'bad' }),
      finding('evidence-log', { status: 'bad' }),
      finding('policies', { status: 'bad' }),
      finding('ready', { status: 'bad' }),
    ]
    expect(all.map((_, at) => headline(...all.slice(0, at + 1)))).toEqual([
      '2 nodes are silent.',
      'One revocation feed is old.',
      'One treaty ends within three days.',
      'One treaty ends within a day.',
      'The revocation list is not current.',
      'Stored evidence is missing or changed.',
      'The policies in force have problems. All decisions are denied.',
      'The authority is not ready.',
    ])
  })

  it('counts several of one kind, and reports no problem for what can wait', () => {
    expect(headline(treaty('A', 60), treaty('B', 70))).toBe('Two treaties end within three days.')
    expect(headline(finding('backup'))).toBe('No problems.')
    expect(headline()).toBe('No problems.')
  })

  it('does not report that there are no problems while a check could not run', () => {
    const unsure = 'No problems in what was checked.'
    expect(headlineOf([], ['evidence-log'], NOW)).toBe(unsure)
    expect(headlineOf(findNeeds([finding('backup')], NOW), ['evidence-log'], NOW)).toBe(unsure)
    expect(headlineOf(findNeeds([finding('crl', { status: 'bad' })], NOW), ['evidence-log'], NOW)).not.toBe(unsure)
  })
})

describe('what is in order', () => {
  const steps = {
    invite_made: true,
    node_joined: true,
    policy_active: true,
    partner_added: true,
    usable_operator_keys: 2,
    backup_at: '2026-11-16T00:00:00Z',
  }
  const found = {
    checked_at: '',
    count: 0,
    findings: [],
    passed: ['ready', 'policies', 'backup'],
    not_checked: [],
    first_steps: steps,
  }

  it('names only what was checked and exists', () => {
    expect(calmOf(found)).toBe(
      'The authority is ready, the policies in force can decide and the last backup is recent.',
    )
    expect(calmOf({ ...found, first_steps: { ...steps, policy_active: false, backup_at: null } })).toBe(
      'The authority is ready.',
    )
    expect(calmOf({ ...found, passed: [] })).toBe('')
    expect(calmOf({ ...found, passed: ['ready'], not_checked: ['disk-space', 'crl'] })).toBe(
      'The authority is ready. Not checked: disk-space, crl.',
    )
  })
})

describe('the link of a finding', () => {
  it('opens the drawer that ends it', () => {
    expect(linkOf(treaty('FJORD/BANK', 5)).href).toBe('/operator/partners/FJORD%2FBANK?do=renew')
    expect(linkOf({ ...treaty('A', -5), status: 'bad' }).href).toBe('/operator/partners?do=recognise')
    expect(linkOf(finding('evidence-anchors', { at: inHours(-1) })).href).toBe('/operator/evidence?do=anchor')
  })

  it('explains the command where no page ends it, for unknown checks too', () => {
    for (const check of ['backup', 'evidence-anchors', 'check-of-2030', 'constructor'])
      expect(linkOf(finding(check))).toEqual({ action: 'How', href: `/operator?open=${check}` })
  })
})
