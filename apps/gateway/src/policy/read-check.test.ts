import type { JsonValue } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { Problems } from './form.ts'
import type { NetworkPolicy } from './policy.ts'
import { readCheck } from './read-check.ts'

// Of a network only its name is read here.
const NETWORKS = new Map([['agency', { name: 'agency' } as NetworkPolicy]])

function read(more: Readonly<Record<string, JsonValue>>): readonly unknown[] {
  const problems = new Problems()
  const check = { audience: 'https://print.example', routes: [], ...more }
  const policy = readCheck(check, 'check', problems, NETWORKS)
  return [policy?.wimse, policy?.requireSignedAuthorization, problems.list]
}

describe('readCheck', () => {
  it('accepts no tokens and requires no signed Authorization when nothing is said', () => {
    expect(read({})).toEqual([new Map(), false, []])
  })

  it('reads trust domains by network', () => {
    const more = { wimse: { agency: 'agency.example.org' }, require_signed_authorization: true }
    expect(read(more)).toEqual([new Map([['agency', 'agency.example.org']]), true, []])
  })

  it.each<[JsonValue, string]>([
    [{ nowhere: 'agency.example.org' }, 'is not a configured network'],
    [{ agency: 'Agency' }, 'must be a host name in lower case'],
    [{ agency: 'a_b' }, 'must be a host name in lower case'],
    [{ agency: 'a/b' }, 'must be a host name in lower case'],
    [{ agency: 7 }, 'must be a host name in lower case'],
    ['agency', 'must be an object of trust domains by network'],
  ])('refuses the trust domains %j', (wimse, problem) => {
    expect(JSON.stringify(read({ wimse })[2])).toContain(problem)
  })
})
