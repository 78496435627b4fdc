import type { AuditEventType } from '@chancery/contract'
import { draftAgentDescriptor, isJsonObject, signAgentDelete, signList, writeInstant } from '@chancery/protocol'
import type { JsonObject, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type AuthorityProcess, enroll, nodeCaller, type TestNetwork, type TestResponse } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { newSigner, type Rows } from '../lib/rows.ts'

/** One change of an authority's state, with one audit event in the same transaction. */
export interface Transition {
  readonly event: AuditEventType
  /** Creates what the change needs, without the audit event of the change. */
  prepare(setup: TestSetup): Promise<PreparedRequest>
}

export interface TestSetup {
  readonly process: AuthorityProcess
  readonly network: TestNetwork
  readonly random: Random
  readonly rows: Rows
  /** How often this change was made on this database before. */
  readonly round: number
}

/** Fixed when a request is to be repeated byte for byte. */
export interface Signed {
  readonly nonce: string
  readonly timestamp: string
}

/** A prepared change: a request that can be sent again with a new signature. */
export interface PreparedRequest {
  send(process: AuthorityProcess, signed?: Signed): Promise<TestResponse>
  /** Status when the request changes something. */
  readonly status: number
  /** Status when the change was made before. */
  readonly again: number
  /** Counts that rise by one with the change. */
  readonly effects: readonly string[]
  /** The same request makes another change of its kind. */
  readonly repeats?: true
  /** A statement signed by a node, valid for its lifetime. It has no nonce. */
  readonly hasNoNonce?: true
}

export type Body = Readonly<Record<string, JsonObject[string]>>

export const name = ({ random }: TestSetup, kind: string): string => `${kind}-${random.next()}-${random.next()}`
export const count = (table: string, where = '1 = 1'): string => `select count(*) as n from ${table} where ${where}`

/**
 * Prepares an operator request that is signed each time it is sent. A creating request has the same idempotency key
 * each time.
 */
export function operate(setup: TestSetup, target: string, body: Body): PreparedRequest['send'] {
  const headers = { 'Idempotency-Key': name(setup, 'deed') }
  return (process, signed) => process.as('privileged')('POST', target, body, { headers, ...signed })
}

export async function prepared(setup: TestSetup, target: string, body: Body): Promise<JsonObject> {
  const answer = await operate(setup, target, body)(setup.process)
  if (answer.status >= 300 || !isJsonObject(answer.json))
    throw new Error(`${target} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
  return answer.json
}

/** Keys that may be revoked: one for each round on a database. */
export const SPARE_OPERATORS = ['spare-1', 'spare-2', 'spare-3', 'spare-4'] as const

async function joined(setup: TestSetup): Promise<{ readonly cert_id: string; readonly signer: Signer }> {
  const signer = await newSigner(setup.random)
  const node = nodeCaller(setup.process.url, signer, () => systemClock.now())
  const access = { as: () => setup.process.as('privileged') }
  return { cert_id: (await enroll(access, node)).cert_id, signer }
}

async function revokedCertificate(setup: TestSetup): Promise<PreparedRequest> {
  const { cert_id } = await joined(setup)
  return {
    send: operate(setup, '/admin/revoke', { cert_id }),
    status: 200,
    again: 200,
    effects: [
      count('issued_certs', `cert_id = '${cert_id}' and status = 'revoked'`),
      count('crl_entries', `cert_id = '${cert_id}'`),
      'select max(sequence) as n from crl_versions',
    ],
  }
}

export const inviteCreated: Transition = {
  event: 'invite_created',
  // A repeat is refused: the token is a secret, so the first response was not stored.
  prepare: async (setup) => ({
    send: operate(setup, '/admin/invite', {}),
    status: 201,
    again: 409,
    effects: [count('invite_tokens')],
  }),
}

export const certificateRevoked: Transition = { event: 'certificate_revoked', prepare: revokedCertificate }

export const policyPublished: Transition = {
  event: 'policy_published',
  prepare: async (setup) => ({
    send: operate(setup, '/admin/policy', { policy_id: name(setup, 'policy') }),
    status: 201,
    again: 201,
    effects: [count('policy_versions')],
  }),
}

export const agentDeregistered: Transition = {
  event: 'agent_deregistered',
  async prepare(setup) {
    const { signer } = await joined(setup)
    const owner: Signer = { ...signer, keyId: signer.publicKey }
    const now = systemClock.now()
    const descriptor = draftAgentDescriptor({
      agent_id: name(setup, 'agent'),
      node_public_key: signer.publicKey,
      network_name: setup.network.name,
      capabilities: ['secret.rotate'],
      endpoint: { host: '198.51.100.7', port: 7448 },
      registered_at: writeInstant(now),
      expires_at: writeInstant(now + 600_000_000n),
    })
    await setup.process.request('POST', '/agents', { body: await signList(descriptor, owner) })
    const target = `/agents/${encodeURIComponent(signer.publicKey)}`
    const key = `node_public_key = '${signer.publicKey}'`
    return {
      send: async (process) =>
        process.request('DELETE', target, { body: await signAgentDelete(writeInstant(systemClock.now()), owner) }),
      status: 200,
      again: 404,
      hasNoNonce: true,
      effects: [
        count('agent_tombstones', key),
        `select 0 - count(*) as n from agent_registrations where ${key} and listed = 1`,
        `select 0 - count(*) as n from agent_capabilities where ${key}`,
      ],
    }
  },
}

export const crlPublished: Transition = {
  event: 'crl_published',
  prepare: revokedCertificate,
}

export const policyRolledBack: Transition = {
  event: 'policy_rolled_back',
  async prepare(setup) {
    const [first, second] = [name(setup, 'policy'), name(setup, 'policy')]
    for (const policy_id of [first, second]) await prepared(setup, '/admin/policy', { policy_id })
    return {
      send: operate(setup, '/admin/policy/rollback', { policy_id: first }),
      status: 200,
      again: 200,
      effects: [
        count('policy_versions', `policy_id = '${first}' and active = 1`),
        count('policy_versions', `policy_id = '${second}' and active = 0`),
      ],
    }
  },
}

export const operatorKeyRevoked: Transition = {
  event: 'operator_key_revoked',
  async prepare(setup) {
    const key_id = SPARE_OPERATORS[setup.round] ?? ''
    return {
      send: operate(setup, `/admin/operator-keys/${key_id}/revoke`, {}),
      status: 200,
      again: 200,
      effects: [count('revoked_operator_keys', `key_id = '${key_id}'`)],
    }
  },
}
