import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { HOUR, type JsonObject, writeInstant } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { verifyPack } from '@chancery/sdk/evidence'
import { collectEvidencePack } from '@chancery/sdk/internal'
import { systemClock } from '@chancery/service-kit'
import { accepted, foreignAttestation, foreignFeed, foreignSovereign, send, wireText } from '@chancery/testkit'
import type { ForeignObject, TestResponse } from '@chancery/testkit'
import { StubPartner } from '../../../apps/authority/src/features/partners/stub-partner.suite.ts'
import type { Random } from '../lib/random.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isAllowed, membersOf } from './members.ts'
import { type AuthoritySetup, decider } from './setup.ts'

/** A pull waits neither for the documents of another partner nor for its own, which are unsigned. */
const QUICK_MS = 3000
/** On a busy machine the pull of the good partner alone takes long, too. */
const TIMES_ALONE = 4

interface Presented {
  readonly sovereignId: string
  readonly attestation: ForeignObject
  /** The decision about `ledger.read` with this amount. */
  readonly decide: (amount: number) => Promise<TestResponse>
}

/** A partner with a treaty, whose feed was read just now, and a member of it. */
async function presented(setup: AuthoritySetup, from: string, random: Random): Promise<Presented> {
  const partner = foreignSovereign(`MEMBERS-${randomUUID()}`)
  const privileged = setup.authority.as('privileged')
  const operator = await decider(setup, random)
  const scope = { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } }
  const treaty = { subject_sovereign_id: partner.sovereign_id, subject_public_keys: [partner.publicKey], scope }
  accepted(await privileged('POST', '/admin/recognition-treaties', treaty, { from }), 201)
  const now = systemClock.now()
  // Signed long ago and read now, which is no silence.
  const feed = foreignFeed(partner, 1, [], { issued_at: writeInstant(now - 2n * HOUR) })
  accepted(await privileged('POST', '/admin/sovereign-revocation-feeds/import', { feed }, { from }))
  const subject_id = random.pick(['zoë@partner', 'x'.repeat(200), 'agent-7', '"quoted"'])
  const attestation = foreignAttestation(partner, now, { subject_id, claims: { capabilities: ['ledger.read'] } })
  return {
    sovereignId: partner.sovereign_id,
    attestation,
    decide: (amount) => {
      const asked = {
        presented: { attestation, issuer_sovereign_id: partner.sovereign_id },
        requested_capability: 'ledger.read',
        context: { request_parameters: { amount } },
      }
      return operator('POST', '/admin/boundary/evaluate', asked, { from })
    },
  }
}

const silentPartner: Attack<AuthoritySetup> = {
  name: 'members of a silent partner',
  async run(setup, from, random) {
    const { sovereignId, decide } = await presented(setup, from, random)
    const heard = await decide(5)
    // As if the import was two hours ago.
    const before = `${new Date(Date.now() - 7_200_000).toISOString().slice(0, -1)}000Z`
    await setup.rows.query(
      `update sovereign_revocation_feeds set imported_at = '${before}' where issuer_sovereign_id = '${sovereignId}'`,
    )
    const silent = await decide(5)
    const complaints = isAllowed(heard) ? [] : [`a member of a partner was answered with ${heard.text.slice(0, 300)}`]
    if (isAllowed(silent)) complaints.push('a member of a silent partner was allowed')
    return outcomeOf([heard, silent], complaints)
  },
}

/** What an auditor gets of a decision on a partner's member, from the authority alone. */
const partnerPacks: Attack<AuthoritySetup> = {
  name: 'evidence about members of a partner',
  async run(setup, from, random) {
    const { attestation, decide } = await presented(setup, from, random)
    const isWithin = random.chance(50)
    const answer = await decide(isWithin ? 5 : 5000)
    const complaints = isAllowed(answer) === isWithin ? [] : [`a decision: ${answer.text.slice(0, 300)}`]
    const decision = membersOf(answer)['decision'] as JsonObject | undefined
    const { authority, network, url } = setup
    const operator = { signer: network.operators.standard, audience: network.authority.publicKey }
    const client = createAuthorityClient({ url, operator, retry: false, fetch: fetchFrom(url, from) })
    const pack = await collectEvidencePack(client, decision?.['decision_id'] as string)
    const { checks } = await verifyPack(pack, { genesis: pack.genesis })
    const failed = checks.filter(({ status }) => status === 'failed').map(({ name, detail }) => `${name} ${detail}`)
    const basis = checks.filter(({ name }) => name === 'basis' || name === 'basis_signature')
    if (failed.length > 0) complaints.push(`the pack of a decision does not verify: ${failed.join(', ')}`)
    for (const { name, status, detail } of basis)
      if (status === 'unchecked') complaints.push(`${name} of a partner's member is not checked: ${detail}`)
    if (!JSON.stringify(pack).includes(attestation['attestation_id'] as string))
      complaints.push('the attestation of a member is not in the pack')
    return outcomeOf([answer, await authority.request('GET', '/policy', { from })], complaints)
  },
}

/** Calls from the address of the case, which has separate limits. */
function fetchFrom(url: string, from: string): (target: string, init: RequestInit) => Promise<Response> {
  return async (target, { method = 'GET', headers }) => {
    const path = target.slice(new URL(url).origin.length)
    const sent = Object.fromEntries(new Headers(headers).entries())
    const { status, bytes, headers: received } = await send(url, method, path, { from, headers: sent })
    const type = received['content-type'] ?? 'application/json'
    return new Response(Uint8Array.from(bytes), { status, headers: { 'content-type': type } })
  }
}

/** Many ids without a valid signature: with none, with an invented one, or with the name of another network. */
function unsignedFeed(stub: StubPartner, random: Random): string {
  const ids = Array.from({ length: 20_000 + random.below(80_000) }, (_, n) => `id-${n}-${'x'.repeat(24)}`)
  const feed = { ...stub.feed(2, []), revoked_attestation_ids: ids }
  const sig = randomBytes(64).toString('base64')
  return random.pick([
    () => wireText({ ...feed, signatures: [] }),
    () => wireText({ ...feed, signatures: [{ key_id: stub.key.key_id, sig }] }),
    () => wireText({ ...feed, issuer_sovereign_id: 'ELSEWHERE' }),
    () => wireText({ ...feed, revoked_attestation_ids: ['['.repeat(1_000_000)] }),
  ])()
}

const unsignedDocuments: Attack<AuthoritySetup> = {
  name: 'large unsigned documents of a partner',
  async run({ authority }, from, random) {
    const number = randomUUID()
    const names = [`UNSIGNED-${number}`, `SIGNED-${number}`, `ALONE-${number}`]
    const partners = names.map((name) => new StubPartner(name, now))
    const [hostile, good, other] = partners as [StubPartner, StubPartner, StubPartner]
    const privileged = authority.as('privileged')
    const pull = async ({ name }: StubPartner): Promise<TestResponse> => {
      // The first pull of a new partner may be under way.
      for (let tries = 0; ; tries += 1) {
        const answer = await privileged('POST', `/admin/partners/${name}/pull`, {}, { from })
        if (!answer.text.includes('pull_in_progress') || tries === 8) return answer
        await pause(500)
      }
    }
    try {
      for (const stub of partners) {
        await stub.listen()
        const body = { url: stub.url, root_public_key: stub.root.publicKey, allow_http: true }
        accepted(await privileged('POST', '/admin/partners', { ...body, interval_seconds: 86_400 }, { from }), 201)
      }
      const text = unsignedFeed(hostile, random)
      hostile.show('/sovereign-revocation-feed', (_request, response) => void response.end(text))
      // Large enough to be read in a thread, too.
      const ids = Array.from({ length: 10_000 }, (_, n) => `good-${n}-${'x'.repeat(24)}`)
      for (const stub of [good, other]) stub.show('/sovereign-revocation-feed', stub.feed(2, ids))
      const begun = performance.now()
      const alone = await pull(other)
      const began = performance.now()
      const limitMs = QUICK_MS + TIMES_ALONE * (began - begun)
      const [bad, served] = await Promise.all([pull(hostile), pull(good)])
      const tookMs = Math.round(performance.now() - began)
      const complaints =
        membersOf(served)['outcome'] === 'ok' ? [] : [`the other partner: ${served.text.slice(0, 200)}`]
      if (membersOf(bad)['outcome'] === 'ok') complaints.push('a feed without a signature was taken')
      if (tookMs > limitMs) complaints.push(`both pulls took ${tookMs} ms, with a limit of ${Math.round(limitMs)} ms`)
      return outcomeOf([alone, bad, served], complaints)
    } finally {
      for (const { name } of partners) await privileged('POST', `/admin/partners/${name}/remove`, {}, { from })
      await Promise.all(partners.map((stub) => stub.stop()))
    }
  },
}

const now = (): bigint => systemClock.now()

export const PARTNER_ATTACKS = [silentPartner, partnerPacks, unsignedDocuments] as const
