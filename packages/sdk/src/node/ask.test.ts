import { HOUR, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { Attestation, JoinCertificate, JsonObject } from '@chancery/protocol'
import {
  FloatNumber,
  ManualClock,
  accepted,
  canonicalText,
  createInvite,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import { MemoryNonceStore } from '../request-proof/nonces.ts'
import type { Caller } from '../request-proof/caller.ts'
import { verifyRequest } from '../request-proof/verify.ts'
import { signRequest } from '../request-proof/sign.ts'
import { type StartedNode, startNode } from '../testing/started-node.suite.ts'
import { MemoryNodeStore } from './followed.ts'

const clock = new ManualClock('2026-03-01T00:00:00Z')
const AUDIENCE = 'https://ledger.example'
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority
let relay: StartedNode
let member: StartedNode
let own: Attestation
/** Changes a response to a request for a decision, as a proxy could. */
let between: (text: string) => string
/** Answers a request to the service. */
let onFetch: (init: RequestInit) => Promise<Response>
beforeAll(async () => {
  const settings = { NA_NODE_DECISIONS: 'partners', NA_DECISION_RELAY_ROLES: 'role:relay' }
  na = await startTestAuthority({ clock, backend: 'sqlite', settings })
  const scope = { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } }
  const treaty = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  const feed = foreignFeed(partner, 1, [], { issued_at: writeInstant(clock.now()) })
  accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed }))
  relay = await joinNode(['role:relay'])
  member = await joinNode(['role:client'])
  const operator = { signer: await testSigner('op-privileged'), audience: na.genesis.network_authority.public_key }
  own = await createAuthorityClient({ url: na.url, operator, clock: () => clock.now() }).attestations.issue({
    subject_id: 'agent-7',
    subject_public_key: member.publicKey,
    roles: ['role:client'],
    claims: { capabilities: ['ledger.read'] },
  })
})
afterAll(async () => {
  await Promise.all([relay.stop(), member.stop()])
  await na.stop()
})
beforeEach(() => {
  between = (text) => text
})

async function joinNode(roles: readonly string[]): Promise<StartedNode> {
  return startNode({
    url: na.url,
    genesis: na.genesis,
    store: new MemoryNodeStore(),
    invite: () => createInvite(na, { roles: [...roles] }),
    clock: () => clock.now(),
    fetch: async (url: string, init: RequestInit) => {
      if (url.startsWith(AUDIENCE)) return onFetch(init)
      const response = await fetch(url, init)
      if (!url.endsWith('/boundary/request') || response.status !== 201) return response
      return new Response(between(await response.text()), { status: 201 })
    },
  })
}

/** The caller of a service, as a middleware shows it. */
async function readCaller(headers: Readonly<Record<string, string | undefined>>): Promise<Caller> {
  const field = (name: string): readonly string[] => (headers[name] === undefined ? [] : [headers[name]])
  const verdict = await verifyRequest(
    { method: 'GET', target: '/ledger', field, body: new Uint8Array() },
    {
      audience: AUDIENCE,
      // What a service decides about the certificate of a partner is not the subject here.
      evaluate: async () => ({ trusted: true }) as unknown as never,
      nonces: new MemoryNonceStore(),
      at: clock.now(),
    },
  )
  if (!verdict.valid) throw new Error(verdict.reason)
  return verdict.caller
}

/** A node of the own network as caller. */
async function ownCaller(attestation: Attestation | undefined): Promise<Caller> {
  let seen: Caller | undefined
  onFetch = async (init) => {
    seen = await readCaller(Object.fromEntries(new Headers(init.headers)))
    return new Response('')
  }
  const send = member.fetchWith({ audience: AUDIENCE, ...(attestation === undefined ? {} : { attestation }) })
  await send(`${AUDIENCE}/ledger`)
  if (seen === undefined) throw new Error('no request')
  return seen
}

/** A member of the partner, with a number in its claims that keeps its form. */
async function partnerCaller(): Promise<Caller> {
  const signer = await testSigner('member of the partner')
  const record = foreignAttestation(partner, clock.now(), {
    subject_public_key: signer.publicKey,
    claims: { capabilities: ['ledger.read'], limit: new FloatNumber(90) },
  })
  const certificate: JoinCertificate = {
    cert_id: 'cert-of-partner',
    node_public_key: signer.publicKey,
    network_name: 'PARTNER-NET',
    roles: ['role:client'],
    issued_at: writeInstant(clock.now()),
    expires_at: writeInstant(clock.now() + HOUR),
    issued_by: 'na-partner-net',
    signatures: [],
  }
  const attestation = readJson(canonicalText(record)) as unknown as Attestation
  const request = { method: 'GET', url: '/ledger', audience: AUDIENCE, now: clock.now() }
  return readCaller(await signRequest(request, { signer, certificate, attestation }))
}

describe('node.ask', () => {
  it('returns a verified decision on the own attestation, and a denial as a result', async () => {
    const { decision, context } = await member.ask('ledger.read', { attestation: own.attestation_id })
    expect(decision).toMatchObject({ authorized: true, agreement_id: own.attestation_id })
    expect(context.attributes['chancery_request']).toMatchObject({
      asked_by: 'node',
      node_public_key: member.publicKey,
      cert_id: member.certificate.cert_id,
    })
    const denied = await member.ask('vault.open', { attestation: own.attestation_id })
    expect(denied).toMatchObject({
      allowed: false,
      reason: 'capability_out_of_scope',
      explanation: expect.stringContaining('an attestation of the caller with the capability vault.open'),
      missing: [],
      decision: { authorized: false, denial_reason: 'capability out of scope' },
    })
  })

  it('refuses a genuine decision on an earlier, equal question', async () => {
    const question = { attestation: own.attestation_id, parameters: { amount: 100 } }
    let first = ''
    between = (text) => (first = text)
    await member.ask('ledger.read', question)
    between = () => first
    await expect(member.ask('ledger.read', question)).rejects.toMatchObject({ reason: 'context_mismatch' })
  })

  it('with an idempotency key a repeat returns the first decision', async () => {
    const question = { attestation: own.attestation_id, idempotencyKey: 'payment-1' }
    const first = await member.ask('ledger.read', question)
    const second = await member.ask('ledger.read', question)
    expect(second.decision.decision_id).toBe(first.decision.decision_id)
  })

  it.each<[string, string, string, string]>([
    ['the subject', '"subject_id":"agent-7"', '"subject_id":"agent-8"', 'signature'],
    [
      'a parameter',
      '"request_parameters":{"amount":100}',
      '"request_parameters":{"amount":900}',
      'context_digest_mismatch',
    ],
    ['the trace', '"trace_id":"', '"trace_id":"0', 'justification_'],
  ])('refuses a response in which %s was changed', async (_what, from, to, reason) => {
    between = (text) => {
      expect(text).toContain(from)
      return text.replace(from, to)
    }
    const question = { attestation: own.attestation_id, parameters: { amount: 100 } }
    await expect(member.ask('ledger.read', question)).rejects.toMatchObject({
      reason: expect.stringContaining(reason),
    })
  })
})

describe('node.ask of a relay', () => {
  it('returns a verified decision about a caller of a partner', async () => {
    const one = await partnerCaller()
    const { decision, context } = await relay.ask('ledger.read', { caller: one })
    expect(decision).toMatchObject({
      authorized: true,
      attestation_binding: { attestation_id: one.attestation?.attestation_id, issuer_sovereign_id: 'PARTNER-NET' },
    })
    expect(context.attributes['chancery_request']).toEqual({
      asked_by: 'relay',
      node_public_key: one.publicKey,
      cert_id: 'cert-of-partner',
      audience: AUDIENCE,
      relayed_by: relay.certificate.cert_id,
    })
  })

  it('returns a verified decision about a caller of the own network, with attributes of the relay', async () => {
    const attested = await ownCaller(own)
    const { decision, context } = await relay.ask('ledger.read', { caller: attested, attributes: { shift: 'night' } })
    expect(decision).toMatchObject({ authorized: true, agreement_id: own.attestation_id })
    expect(context.attributes).toMatchObject({ shift: 'night', chancery_request: { asked_by: 'relay' } })
    const bare = await ownCaller(undefined)
    await expect(relay.ask('ledger.read', { caller: bare })).rejects.toThrow('the caller sent no attestation')
  })

  it('refuses a genuine decision about another caller', async () => {
    const about = await ownCaller(own)
    let first = ''
    between = (text) => (first = text)
    await relay.ask('ledger.read', { caller: about, idempotencyKey: 'k' })
    between = () => first
    const other = await partnerCaller()
    await expect(relay.ask('ledger.read', { caller: other })).rejects.toMatchObject({ reason: 'context_mismatch' })
  })

  it('the authority refuses a proof that was used before', async () => {
    const one = await partnerCaller()
    await relay.ask('ledger.read', { caller: one })
    await expect(relay.ask('ledger.read', { caller: one })).rejects.toMatchObject({
      code: 'caller_proof_rejected',
      details: { reason: 'replayed' },
    })
  })
})

it('takes the text of an attestation of this node, and names it by its id', async () => {
  const text = writeJson(own)
  expect((await member.ask('ledger.read', { attestation: text })).allowed).toBe(true)
})

it('uses the attestation of the options, and needs one', async () => {
  await expect(member.ask('ledger.read')).rejects.toThrow('a decision needs an attestation')
  const both = { attestation: own, caller: await partnerCaller() } as never
  await expect(member.ask('ledger.read', both)).rejects.toThrow('not both')
})
