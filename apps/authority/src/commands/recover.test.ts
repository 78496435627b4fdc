import { readInstant } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { recoveryLines } from './recover.ts'

const recovery = {
  crlSequence: 102,
  feedSequence: undefined,
  revocations: 4,
  agents: 2,
  rules: 3,
  replayFloor: readInstant('2030-01-02T03:00:00Z'),
}

it('a recovery prints how many admission rules have ended, and what to do', () => {
  expect(recoveryLines(recovery)).toEqual([
    'recovered: 4 withdrawals came back',
    'revocation list 102, feed none',
    'signed requests dated up to 2030-01-02T03:00:00Z are refused; unspent invites have ended',
    '2 agents were taken out until they announce themselves again',
    '3 admission rules have ended: add those that you still need under new names (chancery invite rule add)',
  ])
  expect(recoveryLines({ ...recovery, rules: 0 }).join()).not.toContain('admission')
})

it('a recovery of rows ends no rule, and says that the past is unknown', () => {
  const lines = recoveryLines({ ...recovery, agents: 0, rules: 0, replayFloor: undefined })
  expect(lines.slice(2)).toEqual([
    'rows that were gone came back from the last signed list and feed',
    'what was trusted before is unknown from now on: answers need an archive or statement of before the loss',
  ])
})
