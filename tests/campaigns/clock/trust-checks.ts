import { DAY, hours, readJson, seconds, writeInstant } from '@chancery/protocol'
import type { BoundaryDecision, Instant, JsonObject } from '@chancery/protocol'
import {
  accepted,
  EXECUTOR_SOVEREIGN,
  foreignAgreement,
  foreignAttestation,
  foreignFeed,
  foreignOffer,
  foreignSovereign,
  foreignTerms,
  foreignTreaty,
  signAgreed,
  signExecution,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestAuthority, TestResponse } from '@chancery/testkit'
import { attestForLong, decideOn } from './dating-checks.ts'
import { type Check, type ClockSetup, earlier, loggedEvents, near, text, TOLERANCE } from './setup.ts'

const read = (record: ForeignObject): JsonObject => readJson(wireText(record)) as JsonObject
const post = (na: TestAuthority, target: string, body: JsonObject): Promise<TestResponse> =>
  na.request('POST', target, { body })
/** Earlier than any time in a pattern. */
const early = ({ made, target }: ClockSetup): Instant => earlier(made, target) - 3n * DAY

interface Window {
  readonly from: Instant
  readonly until: Instant
}

/** Returns two windows: one ends about where the clock will be, the other begins there, tolerance included. */
function windowsAround(setup: ClockSetup, tolerance: Instant): readonly Window[] {
  const { target, random } = setup
  return [
    { from: early(setup), until: near(target - tolerance, random) },
    { from: near(target + tolerance, random), until: target + 10n * DAY },
  ]
}

const validityOf = ({ from, until }: Window): ForeignObject => ({
  issued_at: writeInstant(from),
  valid_from: writeInstant(from),
  expires_at: writeInstant(until),
})
const verdictOn = ({ from, until }: Window, now: Instant): string =>
  from - TOLERANCE <= now && now <= until + TOLERANCE ? 'accepted' : 'outside_validity_window'

/** protocol/core 17.1, check 6. */
const attestationWindow: Check = {
  name: 'window of an attestation',
  async prepare(setup, compare) {
    const partner = foreignSovereign('PARTNER-NET')
    const windows = windowsAround(setup, TOLERANCE)
    const records = windows.map((window) => foreignAttestation(partner, setup.made, validityOf(window)))
    const issuer = { sovereign_id: 'PARTNER-NET', public_keys: [partner.publicKey], allowed_roles: ['role:client'] }
    const recognition_policy = { local_sovereign_id: 'TEST-NET', recognized_issuers: [issuer] }
    return {
      async atRest() {
        for (const [index, window] of windows.entries()) {
          const body = { attestation: read(records[index] ?? {}), recognition_policy }
          const answer = accepted(await post(setup.na, '/attestations/verify', body))
          compare('reason', verdictOn(window, setup.now), text(answer, 'reason'))
        }
      },
    }
  },
}

/** protocol/core 17.2, check 7. */
const treatyWindow: Check = {
  name: 'window of a treaty',
  async prepare(setup, compare) {
    const [partner, third] = [foreignSovereign('PARTNER-NET'), foreignSovereign('THIRD-NET')]
    const windows = windowsAround(setup, TOLERANCE)
    const records = windows.map((window) => foreignTreaty(partner, third, setup.made, validityOf(window)))
    return {
      async atRest() {
        for (const [index, window] of windows.entries()) {
          const body = { treaty: read(records[index] ?? {}), issuer_public_keys: [partner.publicKey] }
          const answer = accepted(await post(setup.na, '/recognition-treaties/verify', body))
          compare('reason', verdictOn(window, setup.now), text(answer, 'reason'))
        }
      },
    }
  },
}

/** protocol/trust-operations 3.5, 3.8 and 4.3: the treaty with the party key, the offer and the terms are in force. */
const agreementTerms: Check = {
  name: 'offer and terms of an agreement',
  async prepare(setup, compare) {
    const { na, made, target, random } = setup
    const [bolt, cedar] = [foreignSovereign('bolt-net'), foreignSovereign('cedar-net')]
    const life = random.pick([1, 24, 24 * 7])
    for (const each of [bolt, cedar]) {
      const treaty = {
        subject_sovereign_id: each.sovereign_id,
        subject_public_keys: [each.publicKey],
        scope: { allowed_roles: ['role:client'] },
        validity_hours: life,
      }
      accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
    }
    const expires = near(target, random)
    const offer = read(foreignOffer(bolt, 'TEST-NET', made, { expires_at: writeInstant(expires) }))
    const [from, until] = random.chance(50)
      ? [early(setup), near(target, random)]
      : [near(target, random), target + DAY]
    const agreed_terms = foreignTerms(made, { valid_from: writeInstant(from), valid_until: writeInstant(until) })
    const between = foreignAgreement({ offerer: 'bolt-net', responder: 'cedar-net' }, made, { agreed_terms })
    const agreement = read(signAgreed(between, bolt, cedar))
    return {
      async verify() {
        const { now } = setup
        const isVouched = made <= now && now < made + hours(life)
        const accept = await na.as('standard')('POST', '/admin/agreements/accept', { offer })
        compare('offer', isVouched && now <= expires ? '201' : '422 accept_rejected', loggedEvents(accept))
        const body = { agreement, requested_capability: 'ledger.read' }
        const decision = await na.as('standard')('POST', '/admin/boundary/decide', body)
        compare('decision', isVouched ? '201' : '422 agreement_untrusted', loggedEvents(decision))
        if (!isVouched) return
        const granted = accepted(decision, 201)
        const isInForce = from <= now && now <= until
        compare('authorized', isInForce, granted['authorized'] === true)
        const end = isInForce ? earlier(now + seconds(300), until) : now + seconds(300)
        compare('decision_valid_until', writeInstant(end), text(granted, 'decision_valid_until'))
      },
    }
  },
}

/** protocol/trust-operations 4.10, row 2, and 6.5, row 12. */
const decisionLife: Check = {
  name: 'life of a decision',
  async prepare(setup, compare) {
    const { na, made } = setup
    const executor = await testSigner('rotator-key-1', 'executor')
    const key = { key_id: executor.keyId, public_key: executor.publicKey, executor_sovereign_id: EXECUTOR_SOVEREIGN }
    accepted(await na.as('privileged')('POST', '/admin/evidence/executor-keys', key), 201)
    const decision = await decideOn(na, await attestForLong(na))
    return {
      async atRest() {
        const isOver = setup.now > made + seconds(300)
        const answer = accepted(await post(na, '/boundary/verify', { decision }))
        compare('verified', isOver ? 'decision_expired' : 'authorized', text(answer, 'reason'))
      },
      async verify() {
        const { now } = setup
        const executed_at = writeInstant(now)
        const evidence = await signExecution(decision as unknown as BoundaryDecision, executor, { executed_at })
        const isInside = made <= now && now <= made + seconds(300)
        const answer = await post(na, '/evidence/execution', { evidence })
        compare('executed now', isInside ? '201' : '422 evidence_outside_decision_window', loggedEvents(answer))
      },
    }
  },
}

/**
 * protocol/trust-operations 4.3: no tolerance on an own attestation, and no decision is valid longer than its basis.
 */
const attestationBasis: Check = {
  name: 'decision on an attestation',
  async prepare(setup, compare) {
    const life = setup.random.pick([1, 24, 24 * 7])
    const attestation = await attestForLong(setup.na, life)
    return {
      async verify() {
        const { now, made } = setup
        const [isEarly, isOver] = [now < made, now > made + hours(life)]
        const decision = await decideOn(setup.na, attestation)
        const reason = isEarly ? 'attestation_not_yet_valid' : isOver ? 'attestation_expired' : 'none'
        compare(`of ${life} h`, reason, text(decision, 'denial_reason', 'none'))
        compare('authorized', !isEarly && !isOver, decision['authorized'] === true)
        const end = isEarly || isOver ? now + seconds(300) : earlier(now + seconds(300), made + hours(life))
        compare('decision_valid_until', writeInstant(end), text(decision, 'decision_valid_until'))
      },
    }
  },
}

/** protocol/core 15.3, 20.1 and 20.5: views show the state of now, also after a clock was set back. */
const shownStates: Check = {
  name: 'shown treaties and feeds',
  async prepare(setup, compare) {
    const { na, made } = setup
    const life = setup.random.pick([1, 25, 73])
    const shown = foreignSovereign('SHOWN-NET')
    const treaty = { subject_sovereign_id: 'SHOWN-NET', subject_public_keys: [shown.publicKey], validity_hours: life }
    accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
    const feed = { feed: read(foreignFeed(shown, 1, [])), issuer_public_keys: [shown.publicKey] }
    accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', feed))
    return {
      async atRest() {
        const { now } = setup
        const left = made + hours(life) - now
        const state = left < seconds(1) ? 'expired' : left <= hours(72) ? 'expiring_soon' : 'active'
        const graph = accepted(await na.request('GET', '/recognition-graph'))
        const edges = graph['recognition_edges'] as readonly JsonObject[]
        const edge = edges.find(({ to }) => to === 'SHOWN-NET') ?? {}
        compare(`treaty of ${life} h`, state, text(edge, 'lifecycle_state'))
        const age = now - made
        const freshness = age <= hours(24) ? 'fresh' : age <= hours(72) ? 'watch' : 'stale'
        const rows = accepted(await na.request('GET', '/dashboard.json'))['revocation_feeds'] as readonly JsonObject[]
        const row = rows.find(({ issuer_sovereign_id }) => issuer_sovereign_id === 'SHOWN-NET') ?? {}
        compare('imported feed', freshness, text(row, 'freshness'))
      },
    }
  },
}

export const TRUST_CHECKS: readonly Check[] = [
  attestationWindow,
  treatyWindow,
  agreementTerms,
  decisionLife,
  attestationBasis,
  shownStates,
]
