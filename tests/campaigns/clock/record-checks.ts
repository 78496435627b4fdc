import { DAY, type Instant, type JsonObject, readJson, seconds, writeInstant } from '@chancery/protocol'
import {
  accepted,
  foreignConsensus,
  foreignIntent,
  foreignLicense,
  foreignSovereign,
  foreignVote,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject } from '@chancery/testkit'
import { attestForLong, decideOn, exportEntries, isInsideGenesis } from './dating-checks.ts'
import { type Check, earlier, later, loggedEvents, near, text } from './setup.ts'

const read = (record: ForeignObject): JsonObject => readJson(wireText(record)) as JsonObject

/** protocol/trust-operations 9.3, rows 5 and 6. */
const dataUsage: Check = {
  name: 'intent and data license',
  async prepare(setup, compare) {
    const { na, made, target, random } = setup
    const [agent, licensor] = [foreignSovereign('AGENT-NET'), foreignSovereign('LICENSOR-NET')]
    const expires = near(target, random)
    const intent = read(foreignIntent(agent, expires - seconds(300)))
    const start = earlier(made, target) - DAY
    const [from, until] = random.chance(50) ? [start, near(target, random)] : [near(target, random), target + DAY]
    const terms = { valid_from: writeInstant(from), valid_until: writeInstant(until) }
    const policy = read(foreignLicense(licensor, made, terms))
    return {
      async atRest() {
        const { now } = setup
        const expected = [
          ...(now > expires ? ['intent_expired'] : []),
          ...(now > until || now < from ? ['policy_expired'] : []),
        ]
        const body = { intent, policy, agent_public_keys: [agent.publicKey] }
        const answer = accepted(await na.request('POST', '/data-usage/verify', { body }))
        const found = (answer['violations'] as { violation_type: string }[]).map((each) => each.violation_type)
        compare('violations', expected.join(' '), found.join(' '))
      },
    }
  },
}

/** protocol/trust-operations 8.4, row 11. */
const consensusLife: Check = {
  name: 'life of a consensus',
  async prepare(setup, compare) {
    const expires = near(setup.target, setup.random)
    const reached = expires - seconds(300)
    const about = { proof_id: 'proof-1', decision_id: 'decision-1' }
    const validators = ['v1-net', 'v2-net', 'v3-net'].map((name) => foreignSovereign(name))
    const assembler = foreignSovereign('ASSEMBLER-NET')
    const votes = validators.map((each, index) => foreignVote(each, about, reached - seconds(60 * index)))
    const body = {
      proof: read(foreignConsensus(assembler, about, reached, { votes })),
      validator_public_keys: Object.fromEntries(validators.map((each) => [each.sovereign_id, each.publicKey])),
      assembler_public_keys: [assembler.publicKey],
    }
    return {
      async atRest() {
        const answer = accepted(await setup.na.request('POST', '/consensus/verify', { body }))
        compare('reason', expires <= setup.now ? 'expired' : 'valid', text(answer, 'reason'))
      },
    }
  },
}

/** protocol/trust-operations 5.9, row 5, and 5.6, row 6. */
const boundaryPolicy: Check = {
  name: 'window of a boundary policy',
  async prepare(setup, compare) {
    const { na, made, target, random } = setup
    const until = later(near(target, random), earlier(made, target) - DAY + 1n)
    const gate = {
      gate_id: 'limit',
      gate_type: 'max_value.v1',
      order: 0,
      config: { path: 'request_parameters.amount', max: 9 },
    }
    const body = {
      policy_id: 'clocked',
      valid_from: writeInstant(earlier(made, target) - DAY),
      valid_until: writeInstant(until),
      selector: { capabilities: ['never.asked'] },
      gates: [gate],
    }
    const { version = 0 } = accepted(await na.as('privileged')('POST', '/admin/boundary-policies', body), 201)
    const attestation = await attestForLong(na)
    const change = async (action: string): Promise<string> =>
      loggedEvents(await na.as('privileged')('POST', `/admin/boundary-policies/clocked/${action}`, { version }))
    return {
      async verify() {
        const isOver = setup.now > until
        compare('activated', isOver ? '409 boundary_policy_activation_refused' : '200', await change('activate'))
        if (isOver) return
        const decision = await decideOn(na, attestation)
        // After a step back the attestation is not in force yet, so the policy does not matter.
        const expected = setup.now < made ? 'attestation_not_yet_valid' : 'none'
        compare('denied', expected, text(decision, 'denial_reason', 'none'))
        compare('withdrawn', '200', await change('deactivate'))
      },
    }
  },
}

/** protocol/trust-operations 6.11: retention removes a prefix that is older than the cutoff and signs a checkpoint. */
const retentionAge: Check = {
  name: 'age of evidence to be removed',
  async prepare(setup, compare) {
    const { quiet } = setup
    await decideOn(quiet, await attestForLong(quiet))
    let dates: readonly Instant[] = (await exportEntries(quiet)).map(() => setup.made)
    return {
      async atRest() {
        const { now } = setup
        const kept = dates.filter((recorded) => recorded >= now - DAY)
        const removed = dates.length - kept.length
        const answer = await quiet.as('privileged')('POST', '/admin/evidence/retention/apply', { older_than_days: 1 })
        const isSigned = removed === 0 || isInsideGenesis(quiet, now)
        compare('answer', isSigned ? '200' : '503 service_unavailable', loggedEvents(answer))
        if (!isSigned || removed === 0) return
        compare('removed entries', removed, Number(accepted(answer)['removed_count']))
        // The checkpoint is an entry and is dated like one.
        dates = [...kept, later(dates.at(-1) ?? now, now)]
      },
    }
  },
}

/** protocol/core 2: outside the key window nothing is signed, and stored records are still served. */
const genesisWindow: Check = {
  name: 'window of the genesis block',
  async prepare(setup, compare) {
    const { quiet } = setup
    accepted(await quiet.request('GET', '/crl'))
    let count = 0
    return {
      async atRest() {
        const isInside = isInsideGenesis(quiet, setup.now)
        const body = { policy_id: `window-${(count += 1)}` }
        const answer = await quiet.as('privileged')('POST', '/admin/policy', body)
        compare('signing', isInside ? '201' : '503 service_unavailable', loggedEvents(answer))
        compare(
          'ready',
          isInside ? '200' : '503 service_not_ready',
          loggedEvents(await quiet.request('GET', '/readyz')),
        )
        for (const target of ['/genesis', '/crl'])
          compare(target, '200', loggedEvents(await quiet.request('GET', target)))
      },
    }
  },
}

export const RECORD_CHECKS: readonly Check[] = [dataUsage, consensusLife, boundaryPolicy, retentionAge, genesisWindow]
