import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted, detailsOf, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readVersions } from '../../database/locks/versions.ts'
import { ruleTerms } from '../admission/admission-rule.suite.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ operators: { privileged: 'privileged', chief: 'privileged' } })
})
afterAll(() => na.stop())

it('a revocation counts the admission rules that the key added, and removes them on request, also afterwards', async () => {
  const rules = async (): Promise<readonly unknown[]> => {
    const { rules: all } = accepted(await na.as('privileged')('GET', '/admin/admission-rules'))
    return (all as JsonObject[]).filter(({ status }) => status === 'active').map(({ rule_id }) => rule_id)
  }
  const add = async (name: 'chief' | 'privileged', rule_id: string): Promise<void> => {
    accepted(await na.as(name)('POST', '/admin/admission-rules', ruleTerms(rule_id)), 201)
  }
  for (const rule_id of ['chief-1', 'chief-2']) await add('chief', rule_id)
  await add('privileged', 'stays')
  const key = '/admin/operator-keys/op-chief'
  const revoke = async (body: JsonObject): Promise<JsonObject> =>
    accepted(await na.as('privileged')('POST', `${key}/revoke`, body))
  expect(await revoke({ dry_run: true })).toMatchObject({ would_change: true, active_rules: 2 })
  refused(await na.as('privileged')('POST', `${key}/revoke`, { remove_rules: 1 }), 400, 'invalid_input')
  expect(await revoke({ reason: 'stolen' })).not.toHaveProperty('removed_rules')
  expect(accepted(await na.as('privileged')('GET', `${key}/activity`))).toMatchObject({ active_rules: 2 })
  expect(await rules()).toEqual(expect.arrayContaining(['chief-1', 'chief-2', 'stays']))
  const version = async (): Promise<number> =>
    (await readVersions(na.core.database)).versions.get('admission') ?? Number.NaN
  const before = await version()
  expect(await revoke({ reason: 'stolen', remove_rules: true })).toMatchObject({
    already_revoked: true,
    removed_rules: 2,
  })
  expect(await version()).toBe(before + 1)
  expect(await rules()).toEqual(['stays'])
  const removed = (await na.auditEvents('admission_rule_removed')).map(detailsOf)
  expect(removed.map(({ rule_id, reason, key_id }) => [rule_id, reason, key_id])).toEqual([
    ['chief-1', 'stolen', 'op-privileged'],
    ['chief-2', 'stolen', 'op-privileged'],
  ])
  expect(await revoke({ remove_rules: true })).toMatchObject({ removed_rules: 0 })
  expect(await version()).toBe(before + 1)
})
