import { type JsonObject, readJson } from '@chancery/protocol'
import { foreignFeed, foreignSovereign, wireText } from '@chancery/testkit'
import { type Body, count, name, operate, prepared, type TestSetup, type Transition } from '../faults/transition.ts'
import { newSigner, text } from '../lib/rows.ts'

const LICENSE = {
  allowed_source_ids: ['source'],
  allowed_access_types: ['read'],
  valid_from: '2020-01-01T00:00:00Z',
  valid_until: '2090-01-01T00:00:00Z',
}

function boundaryPolicy(policy_id: string, max = 1): Body {
  const config = { path: 'request_parameters.amount', max }
  const { valid_from, valid_until } = LICENSE
  return { policy_id, valid_from, valid_until, gates: [{ gate_id: 'g', gate_type: 'max_value.v1', order: 0, config }] }
}

async function publishedBoundaryPolicy(setup: TestSetup, active: boolean): Promise<string> {
  const policy_id = name(setup, 'boundary')
  await prepared(setup, '/admin/boundary-policies', boundaryPolicy(policy_id))
  if (active) await prepared(setup, `/admin/boundary-policies/${policy_id}/activate`, { version: 1 })
  return policy_id
}

async function executorKey(
  setup: TestSetup,
): Promise<{ key_id: string; public_key: string; executor_sovereign_id: string }> {
  const { publicKey } = await newSigner(setup.random)
  return { key_id: name(setup, 'executor'), public_key: publicKey, executor_sovereign_id: 'rotator' }
}

const member = (setup: TestSetup): Body => ({ subject_id: name(setup, 'member'), roles: ['role:client'] })

function treaty(setup: TestSetup, sovereign = foreignSovereign(name(setup, 'PARTNER'))): Body {
  return { subject_sovereign_id: sovereign.sovereign_id, subject_public_keys: [sovereign.publicKey] }
}

export const membershipAttestationIssued: Transition = {
  event: 'membership_attestation_issued',
  prepare: async (setup) => ({
    send: operate(setup, '/admin/attestations', member(setup)),
    status: 201,
    again: 201,
    effects: [count('membership_attestations')],
  }),
}

export const recognitionTreatyIssued: Transition = {
  event: 'recognition_treaty_issued',
  prepare: async (setup) => ({
    send: operate(setup, '/admin/recognition-treaties', treaty(setup)),
    status: 201,
    again: 201,
    effects: [count('recognition_treaties')],
  }),
}

export const membershipAttestationRevoked: Transition = {
  event: 'membership_attestation_revoked',
  async prepare(setup) {
    const id = text(await prepared(setup, '/admin/attestations', member(setup)), 'attestation_id')
    return {
      send: operate(setup, `/admin/attestations/${id}/revoke`, { reason: 'left' }),
      status: 200,
      again: 200,
      effects: [
        count('membership_attestations', `attestation_id = '${id}' and status = 'revoked'`),
        'select coalesce(max(sequence), 0) as n from own_revocation_feeds',
      ],
    }
  },
}

export const recognitionPolicySaved: Transition = {
  event: 'recognition_policy_saved',
  async prepare(setup) {
    const policy_id = name(setup, 'recognition')
    const recognition_policy = { local_sovereign_id: setup.network.name, recognized_issuers: [] }
    return {
      send: operate(setup, '/admin/recognition-policy', { policy_id, recognition_policy }),
      status: 200,
      again: 200,
      effects: [count('recognition_policies')],
      repeats: true,
    }
  },
}

export const recognitionTreatyRevoked: Transition = {
  event: 'recognition_treaty_revoked',
  async prepare(setup) {
    const id = text(await prepared(setup, '/admin/recognition-treaties', treaty(setup)), 'treaty_id')
    return {
      send: operate(setup, `/admin/recognition-treaties/${id}/revoke`, { reason: 'over' }),
      status: 200,
      again: 200,
      effects: [count('recognition_treaties', `treaty_id = '${id}' and status = 'revoked'`)],
    }
  },
}

export const boundaryPolicyPublished: Transition = {
  event: 'boundary_policy_published',
  prepare: async (setup) => ({
    send: operate(setup, '/admin/boundary-policies', boundaryPolicy(name(setup, 'boundary'))),
    status: 201,
    again: 201,
    effects: [count('boundary_policies')],
  }),
}

export const executorKeyRegistered: Transition = {
  event: 'executor_key_registered',
  prepare: async (setup) => ({
    send: operate(setup, '/admin/evidence/executor-keys', await executorKey(setup)),
    status: 201,
    again: 409,
    effects: [count('executor_keys')],
  }),
}

export const boundaryPolicyActivated: Transition = {
  event: 'boundary_policy_activated',
  async prepare(setup) {
    const policy_id = await publishedBoundaryPolicy(setup, false)
    await prepared(setup, '/admin/boundary-policies', boundaryPolicy(policy_id, 2))
    const version = (number: number, active: 0 | 1): string =>
      `policy_id = '${policy_id}' and version = ${number} and active = ${active}`
    // Directly in the database, because activating writes the event that is counted: one version must replace the
    // other.
    await setup.rows.query(`update boundary_policies set active = 1, activated_at = created_at where ${version(1, 0)}`)
    return {
      send: operate(setup, `/admin/boundary-policies/${policy_id}/activate`, { version: 2 }),
      status: 200,
      again: 200,
      effects: [count('boundary_policies', version(1, 0)), count('boundary_policies', version(2, 1))],
    }
  },
}

export const sovereignRevocationFeedImported: Transition = {
  event: 'sovereign_revocation_feed_imported',
  async prepare(setup) {
    const issuer = foreignSovereign(name(setup, 'ISSUER'))
    await prepared(setup, '/admin/recognition-treaties', treaty(setup, issuer))
    const feed = readJson(wireText(foreignFeed(issuer, 1, [name(setup, 'withdrawn')]))) as JsonObject
    const from = `issuer_sovereign_id = '${issuer.sovereign_id}'`
    return {
      send: operate(setup, '/admin/sovereign-revocation-feeds/import', { feed }),
      status: 200,
      again: 409,
      effects: [count('sovereign_revocation_feeds', from), count('imported_sovereign_revocations', from)],
    }
  },
}

export const boundaryPolicyDeactivated: Transition = {
  event: 'boundary_policy_deactivated',
  async prepare(setup) {
    const policy_id = await publishedBoundaryPolicy(setup, true)
    return {
      send: operate(setup, `/admin/boundary-policies/${policy_id}/deactivate`, { version: 1 }),
      status: 200,
      again: 409,
      effects: [count('boundary_policies', `policy_id = '${policy_id}' and active = 0`)],
    }
  },
}

export const executorKeyRetired: Transition = {
  event: 'executor_key_retired',
  async prepare(setup) {
    const key = await executorKey(setup)
    await prepared(setup, '/admin/evidence/executor-keys', key)
    return {
      send: operate(setup, `/admin/evidence/executor-keys/${key.key_id}/retire`, {}),
      status: 200,
      again: 409,
      effects: [count('executor_keys', `key_id = '${key.key_id}' and retired_at is not null`)],
    }
  },
}

export const dataLicensePolicyCreated: Transition = {
  event: 'data_license_policy_created',
  prepare: async (setup) => ({
    send: operate(setup, '/admin/data-usage/policy', { licensee_sovereign_id: name(setup, 'licensee'), ...LICENSE }),
    status: 201,
    again: 201,
    effects: [count('data_license_policies')],
  }),
}

export const capabilityOfferBuilt: Transition = {
  event: 'capability_offer_built',
  // Signed and returned, not stored. Only the response under its idempotency key must exist once.
  async prepare(setup) {
    const body = {
      responder_sovereign_id: name(setup, 'PARTNER'),
      capabilities: ['secret.rotate'],
      scope: {},
      valid_from: LICENSE.valid_from,
      valid_until: LICENSE.valid_until,
      expires_at: LICENSE.valid_until,
    }
    return {
      send: operate(setup, '/admin/agreements/offer', body),
      status: 201,
      again: 201,
      effects: [count('idempotency_keys', 'answer_json is not null')],
    }
  },
}
