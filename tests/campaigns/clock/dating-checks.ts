import { hours, instantOf, isJsonObject, writeInstant } from '@chancery/protocol'
import type { Crl, Instant, JsonObject } from '@chancery/protocol'
import { accepted, entryOf, EXECUTED_CAPABILITY, fetchCrl, seedCertificates } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { type Check, type ClockSetup, later, loggedEvents, text, TOLERANCE } from './setup.ts'

/** How far the latest record of a kind may be dated ahead before the authority must log it (reliability 8). */
const alarmsOf = (setup: ClockSetup, head: string): number =>
  setup.lines.filter((line) => line.includes('"alarm":true') && line.includes(`"head":"${head}"`)).length

/** Reliability 8: no list is dated before its predecessor, and no revocation waits for a clock. */
const listDates: Check = {
  name: 'dates of the revocation list',
  async prepare(setup, compare) {
    let last = await revokeOne(setup)
    return {
      async atRest() {
        const before = alarmsOf(setup, 'crl')
        const isAhead = instantOf(last.issued_at) - setup.now > TOLERANCE
        const { now } = setup
        const next = await revokeOne(setup)
        compare('issued_at', writeInstant(setup.highest), next.issued_at)
        compare('next_update', writeInstant(setup.highest + hours(24)), next.next_update)
        compare('a higher sequence', true, next.sequence > last.sequence)
        const entry = entryOf(next, next.cert_id)
        compare('the certificate is listed', writeInstant(now), entry?.revoked_at ?? 'not listed')
        compare('alarms about its predecessor', isAhead ? 1 : 0, Math.min(1, alarmsOf(setup, 'crl') - before))
        last = next
      },
    }
  },
}

/** protocol/core 9.2: an entry is left out one hour after its certificate expired, and not earlier. */
const listPruning: Check = {
  name: 'pruning of the revocation list',
  async prepare(setup, compare) {
    const lives = [1, 24, 24 * 30]
    const revoked: { readonly life: number; readonly cert_id: string }[] = []
    for (const life of lives) revoked.push({ life, cert_id: (await revokeOne(setup, life)).cert_id })
    return {
      async verify() {
        const list = await revokeOne(setup)
        for (const { life, cert_id } of revoked) {
          const isOver = setup.now > setup.made + hours(life) + hours(1)
          compare(`of a certificate for ${life} h`, !isOver, entryOf(list, cert_id) !== undefined)
        }
      },
    }
  },
}

/**
 * protocol/core 9.2 and 2: a list is signed again when twelve hours remain, inside the key window; otherwise it stays
 * unchanged.
 */
const listRefresh: Check = {
  name: 'refresh of the revocation list',
  async prepare(setup, compare) {
    const key = setup.quiet.genesis.network_authority.public_key
    let last = await fetchCrl(setup.quiet.url, key)
    let issued = setup.made
    return {
      async atRest() {
        const isDue = setup.now >= issued + hours(12) && isInsideGenesis(setup.quiet, setup.now)
        if (isDue) issued = setup.now
        const served = await fetchCrl(setup.quiet.url, key)
        compare('sequence', last.sequence + (isDue ? 1 : 0), served.sequence)
        compare('issued_at', writeInstant(issued), served.issued_at)
        compare('next_update', writeInstant(issued + hours(24)), served.next_update)
        last = served
      },
    }
  },
}

const feedDates: Check = {
  name: 'dates of the revocation feed',
  async prepare(setup, compare) {
    const withdraw = async (): Promise<JsonObject> => {
      const body = { subject_id: 'withdrawn@clock', roles: ['role:client'], validity_hours: 26_280 }
      const issued = accepted(await setup.na.as('privileged')('POST', '/admin/attestations', body), 201)
      const target = `/admin/attestations/${text(issued, 'attestation_id')}/revoke`
      accepted(await setup.na.as('privileged')('POST', target, {}))
      return accepted(await setup.na.request('GET', '/sovereign-revocation-feed'))
    }
    let last = await withdraw()
    return {
      async atRest() {
        const before = alarmsOf(setup, 'feed')
        const isAhead = instantOf(text(last, 'issued_at')) - setup.now > TOLERANCE
        // protocol/core 18.2: a feed is signed again before it is twelve hours old.
        const resigned = setup.now >= instantOf(text(last, 'issued_at')) + hours(12) ? 1 : 0
        const next = await withdraw()
        compare('issued_at', writeInstant(setup.highest), text(next, 'issued_at'))
        compare('sequence', Number(last['sequence']) + resigned + 1, Number(next['sequence']))
        compare('alarms about its predecessor', isAhead ? 1 : 0, Math.min(1, alarmsOf(setup, 'feed') - before))
        last = next
      },
    }
  },
}

const policyDates: Check = {
  name: 'dates of the policy',
  async prepare(setup, compare) {
    let count = 0
    const publish = async (): Promise<JsonObject> => {
      const body = { policy_id: `clock-${(count += 1)}` }
      return accepted(await setup.na.as('privileged')('POST', '/admin/policy', body), 201)
    }
    let last = await publish()
    return {
      async atRest() {
        const before = alarmsOf(setup, 'policy')
        const isAhead = instantOf(text(last, 'issued_at')) - setup.now > TOLERANCE
        last = await publish()
        compare('issued_at', writeInstant(setup.highest), text(last, 'issued_at'))
        compare('alarms about its predecessor', isAhead ? 1 : 0, Math.min(1, alarmsOf(setup, 'policy') - before))
      },
    }
  },
}

const evidenceDates: Check = {
  name: 'dates of evidence entries',
  async prepare(setup, compare) {
    const attestation = await attestForLong(setup.na)
    const dates = new Map<string, Instant>()
    const decide = async (): Promise<void> => {
      const decision = await decideOn(setup.na, attestation)
      dates.set(text(decision, 'decision_id'), setup.highest)
      compare('decision_made_at', writeInstant(setup.now), text(decision, 'decision_made_at'))
    }
    await decide()
    return {
      atRest: decide,
      async verify() {
        let last = 0n
        for (const entry of await exportEntries(setup.na)) {
          const recorded = instantOf(text(entry, 'recorded_at'))
          compare('not before its predecessor', true, recorded >= last)
          last = recorded
          const expected = dates.get(text(entry, 'decision_id', ''))
          if (expected !== undefined) compare('recorded_at', writeInstant(expected), writeInstant(recorded))
          dates.delete(text(entry, 'decision_id', ''))
        }
        compare('decisions that are not recorded', 0, dates.size)
      },
    }
  },
}

/**
 * protocol/trust-operations 6.12, row 2: an anchor more than five minutes before the last one is refused; otherwise it
 * is never dated before the last one.
 */
const anchorDates: Check = {
  name: 'dates of anchors',
  async prepare(setup, compare) {
    const attestation = await attestForLong(setup.na)
    let last: Instant | undefined
    const anchor = async (): Promise<void> => {
      // Adds an entry to anchor.
      await decideOn(setup.na, attestation)
      const answer = await setup.na.as('standard')('POST', '/admin/evidence/anchors', {})
      const isAhead = last !== undefined && last - setup.now > TOLERANCE
      compare('answer', isAhead ? '409 evidence_anchor_refused' : '201', loggedEvents(answer))
      if (isAhead) return
      last = later(last ?? setup.now, setup.now)
      const { anchor: made } = accepted(answer, 201) as { anchor: JsonObject }
      compare('anchored_at', writeInstant(last), text(made, 'anchored_at'))
    }
    await anchor()
    return { atRest: anchor }
  },
}

/** Revokes a certificate and returns the list as a relying party reads it. */
async function revokeOne({ na }: ClockSetup, validityHours = 8760): Promise<Crl & { readonly cert_id: string }> {
  const [seeded] = await seedCertificates(na.parts, {
    count: 1,
    node_public_key: na.core.signing.publicKey,
    validityHours,
  })
  const cert_id = seeded?.cert_id ?? ''
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
  return { ...(await fetchCrl(na.url, na.genesis.network_authority.public_key)), cert_id }
}

/** protocol/core 2. */
export function isInsideGenesis({ genesis }: TestAuthority, now: Instant): boolean {
  const { valid_from, valid_to } = genesis.network_authority
  return instantOf(valid_from) <= now && now < instantOf(valid_to)
}

/** An attestation that is in force in every pattern that does not go back. Decisions are recorded in both cases. */
export async function attestForLong(na: TestAuthority, validity_hours = 26_280): Promise<JsonObject> {
  const claims = { capabilities: [EXECUTED_CAPABILITY] }
  const body = { subject_id: 'vendor-1', roles: ['role:client'], claims, validity_hours }
  return accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
}

export async function decideOn(na: TestAuthority, attestation: JsonObject): Promise<JsonObject> {
  const body = { attestation_id: text(attestation, 'attestation_id'), requested_capability: EXECUTED_CAPABILITY }
  const answer = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', body), 201)
  return answer['decision'] as JsonObject
}

/** Returns the envelopes of the store in their order. */
export async function exportEntries(na: TestAuthority): Promise<readonly JsonObject[]> {
  const lines = (await na.as('standard')('GET', '/admin/evidence/export')).text.split('\n').slice(0, -1)
  return lines.map((line) => {
    const { entry } = JSON.parse(line) as { entry: JsonObject }
    if (!isJsonObject(entry)) throw new TypeError('a line holds no entry')
    return entry
  })
}

export const DATING_CHECKS: readonly Check[] = [
  listDates,
  listPruning,
  listRefresh,
  feedDates,
  policyDates,
  evidenceDates,
  anchorDates,
]
