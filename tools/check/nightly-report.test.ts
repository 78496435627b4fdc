import { describe, expect, it } from 'vitest'
import { failedCampaigns } from '../../tests/campaigns/lib/report.ts'
import { describeNight } from './nightly-report.ts'

const line = (entry: object): string => `${JSON.stringify(entry)}\n`
const started = (name: string, seed = 7): string => line({ name, seed, state: 'started' })
const ended = (name: string, violations = 0, seed = 7): string =>
  line({ name, seed, state: 'ended', cases: 20, violations })
const GOOD_LOG = 'ok     postgres\n\n120 passed, 0 failed\n'

function night(files: Readonly<Record<string, string>>, parts = 1, logs: readonly string[] = []) {
  return describeNight({ commit: 'abc', parts, logs, files: new Map(Object.entries(files)) })
}

describe('the report of a night', () => {
  it('is good when every campaign ended without a violation and every log counts no failure', () => {
    const files = { 'campaigns-1.jsonl': started('kills') + ended('kills'), 'tests.log': GOOD_LOG }
    expect(night(files, 1, ['tests.log'])).toMatchObject({ isGood: true })
  })

  it('names campaign, result and the command that repeats the seed', () => {
    const { isGood, text } = night({ 'campaigns-1.jsonl': started('kills', 9968) + ended('kills', 66, 9968) })
    expect(isGood).toBe(false)
    expect(text).toContain('| kills | 66 violations in 20 cases | `npm run campaign -- kills --seed 9968` |')
  })

  it.each([
    ['a campaign that was ended by the time limit', started('races'), 'did not end'],
    ['a campaign that threw', started('races') + line({ name: 'races', seed: 7, state: 'failed' }), 'with an error'],
    ['a line that was cut', `${started('races')}${ended('races')}{"name":"kil`, 'unreadable line'],
    ['an end without a count', started('races') + line({ name: 'races', seed: 7, state: 'ended' }), 'unreadable line'],
    ['a name that is Markdown', line({ name: 'a|`b`', seed: 7, state: 'started' }), 'unreadable line'],
  ])('contains %s', (_, text, reason) => {
    const report = night({ 'campaigns-1.jsonl': text })
    expect(report.isGood).toBe(false)
    expect(report.text).toContain(reason)
  })

  it('is not good when a part, a log or all campaigns are missing', () => {
    const part = started('kills') + ended('kills')
    expect(night({ 'campaigns-1.jsonl': part }, 2).text).toContain('Without a result: campaigns-2.jsonl.')
    expect(night({ 'campaigns-1.jsonl': part }, 1, ['tests.log'])).toMatchObject({ isGood: false })
    expect(night({ 'campaigns-1.jsonl': '' })).toMatchObject({ isGood: false })
  })

  it.each([
    [
      'failures',
      'FAILED nightly  3 s\nrepeat with: npx vitest\n\n10 passed, 2 failed\n',
      'ends with 10 passed, 2 failed',
    ],
    ['no closing line', 'ok     postgres\nended by SIGTERM\n', 'has no closing line'],
    [
      'a step that did not run',
      'not run image: no buildah\n\n1 not run: image\n\n2 passed, 0 failed\n',
      'not run image: no b',
    ],
    ['no test at all', '0 passed, 0 failed\n', 'ends with 0 passed, 0 failed'],
  ])('contains a log with %s', (_, log, reason) => {
    const report = night({ 'campaigns-1.jsonl': started('kills') + ended('kills'), 'tests.log': log }, 1, ['tests.log'])
    expect(report.isGood).toBe(false)
    expect(report.text).toContain(reason)
  })

  it('counts the last run of a campaign that was repeated', () => {
    expect(failedCampaigns(started('kills') + ended('kills', 2) + started('kills') + ended('kills'))).toEqual([])
  })
})
