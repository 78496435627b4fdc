import { randomUUID } from 'node:crypto'
import type { TestResponse } from '@chancery/testkit'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isAllowed, isOk } from './members.ts'
import { CEDAR_CAPABILITY, SLOW_RULES, amountIntent, cedarIntent } from './policies.ts'
import { type AuthoritySetup, decider } from './setup.ts'

/** A decision and a policy wait for no simulation; on a busy machine both take long alone, too. */
const QUICK_MS = 3000
const TIMES_ALONE = 4

const slowPolicies: Attack<AuthoritySetup> = {
  name: 'simulations of slow policies',
  async run(setup, from, random) {
    const { authority, rotator } = setup
    const [standard, privileged] = [await decider(setup, random), authority.as('privileged')]
    const contexts = Array.from({ length: 1 + random.below(4) }, (_, n) => ({
      requested_capability: CEDAR_CAPABILITY,
      requester_sovereign_id: 'x',
      request_parameters: { id: 'x', s: 'a'.repeat(15_800 - n) },
    }))
    const asked = {
      attestation_id: rotator,
      requested_capability: CEDAR_CAPABILITY,
      context: { request_parameters: { id: 'x' } },
    }
    const both = (): Promise<readonly [TestResponse, TestResponse]> =>
      Promise.all([
        standard('POST', '/admin/boundary/evaluate', asked, { from }),
        privileged('POST', '/admin/boundary-policies', amountIntent(`quick-${randomUUID()}`, 'x.y'), { from }),
      ])
    const begun = performance.now()
    const alone = await both()
    const limitMs = QUICK_MS + TIMES_ALONE * (performance.now() - begun)
    const slow = cedarIntent('slow', SLOW_RULES)
    const simulate = standard('POST', '/admin/boundary-policies/simulate', { intent: slow, contexts }, { from })
    const validate = standard('POST', '/admin/boundary-policies/validate', slow, { from })
    const began = performance.now()
    const [decided, published] = await both()
    const tookMs = Math.round(performance.now() - began)
    const complaints = isAllowed(decided) ? [] : [`a decision at the same time: ${decided.text.slice(0, 300)}`]
    if (!isOk(published)) complaints.push(`a policy at the same time was answered with ${published.status}`)
    if (tookMs > limitMs) complaints.push(`both took ${tookMs} ms, with a limit of ${Math.round(limitMs)} ms`)
    return outcomeOf([...alone, decided, published, await simulate, await validate], complaints)
  },
}

export const SLOW_ATTACKS = [slowPolicies] as const
