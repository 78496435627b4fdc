import { readJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { foreignFeed, foreignSovereign, wireText } from '@chancery/testkit'
import { newSigner } from '../lib/seed.ts'
import { text } from '../lib/rows.ts'
import { count, name, operate, prepared } from '../faults/transition.ts'
import type { Body, TestSetup, Transition } from '../faults/transition.ts'

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

async function publishedBoundaryPolicy(scene: TestSetup, active: boolean): Promise<string> {
  const policy_id = name(scene, 'boundary')
  await prepared(scene, '/admin/boundary-policies', boundaryPolicy(policy_id))
  if (active) await prepared(scene, `/admin/boundary-policies/${policy_id}/activate`, { version: 1 })
  return policy_id
}

async function executorKey(
  scene: TestSetup,
): Promise<{ key_id: string; public_key: string; executor_sovereign_id: string }> {
  const { publicKey } = await newSigner(scene.random)
  return { key_id: name(scene, 'executor'), public_key: publicKey, executor_sovereign_id: 'rotator' }
}

const member = (scene: TestSetup): Body => ({ subject_id: name(scene, 'member'), roles: ['role:client'] })

function treaty(scene: TestSetup, sovereign = foreignSovereign(name(scene, 'PARTNER'))): Body {
  return { subject_sovereign_id: sovereign.sovereign_id, subject_public_keys: [sovereign.publicKey] }
}

export const membershipAttestationIssued: Transition = {
  event: 'membership_attestation_issued',
  prepare: async (scene) => ({
    send: operate(scene, '/admin/attestations', member(scene)),
    status: 201,
    again: 201,
    effects: [count('membership_attestations')],
  }),
}

export const recognitionTreatyIssued: Transition = {
  event: 'recognition_treaty_issued',
  prepare: async (scene) => ({
    send: operate(scene, '/admin/recognition-treaties', treaty(scene)),
    status: 201,
    again: 201,
    effects: [count('recognition_treaties')],
  }),
}

export const membershipAttestationRevoked: Transition = {
  event: 'membership_attestation_revoked',
  async prepare(scene) {
    const id = text(await prepared(scene, '/admin/attestations', member(scene)), 'attestation_id')
    return {
      send: operate(scene, `/admin/attestations/${id}/revoke`, { reason: 'left' }),
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
  async prepare(scene) {
    const policy_id = name(scene, 'recognition')
    const recognition_policy = { local_sovereign_id: scene.network.name, recognized_issuers: [] }
    return {
      send: operate(scene, '/admin/recognition-policy', { policy_id, recognition_policy }),
      status: 200,
      again: 200,
      effects: [count('recognition_policies')],
      repeats: true,
    }
  },
}

export const recognitionTreatyRevoked: Transition = {
  event: 'recognition_treaty_revoked',
  async prepare(scene) {
    const id = text(await prepared(scene, '/admin/recognition-treaties', treaty(scene)), 'treaty_id')
    return {
      send: operate(scene, `/admin/recognition-treaties/${id}/revoke`, { reason: 'over' }),
      status: 200,
      again: 200,
      effects: [count('recognition_treaties', `treaty_id = '${id}' and status = 'revoked'`)],
    }
  },
}

export const boundaryPolicyPublished: Transition = {
  event: 'boundary_policy_published',
  prepare: async (scene) => ({
    send: operate(scene, '/admin/boundary-policies', boundaryPolicy(name(scene, 'boundary'))),
    status: 201,
    again: 201,
    effects: [count('boundary_policies')],
  }),
}

export const executorKeyRegistered: Transition = {
  event: 'executor_key_registered',
  prepare: async (scene) => ({
    send: operate(scene, '/admin/evidence/executor-keys', await executorKey(scene)),
    status: 201,
    again: 409,
    effects: [count('executor_keys')],
  }),
}

export const boundaryPolicyActivated: Transition = {
  event: 'boundary_policy_activated',
  async prepare(scene) {
    const policy_id = await publishedBoundaryPolicy(scene, false)
    await prepared(scene, '/admin/boundary-policies', boundaryPolicy(policy_id, 2))
    const version = (number: number, active: 0 | 1): string =>
      `policy_id = '${policy_id}' and version = ${number} and active = ${active}`
    // Directly in the database, because activating writes the event that is counted: one version must replace the
    // other.
    await scene.rows.query(`update boundary_policies set active = 1, activated_at = created_at where ${version(1, 0)}`)
    return {
      send: operate(scene, `/admin/boundary-policies/${policy_id}/activate`, { version: 2 }),
      status: 200,
      again: 200,
      effects: [count('boundary_policies', version(1, 0)), count('boundary_policies', version(2, 1))],
    }
  },
}

export const sovereignRevocationFeedImported: Transition = {
  event: 'sovereign_revocation_feed_imported',
  async prepare(scene) {
    const issuer = foreignSovereign(name(scene, 'ISSUER'))
    await prepared(scene, '/admin/recognition-treaties', treaty(scene, issuer))
    const feed = readJson(wireText(foreignFeed(issuer, 1, [name(scene, 'withdrawn')]))) as JsonObject
    const from = `issuer_sovereign_id = '${issuer.sovereign_id}'`
    return {
      send: operate(scene, '/admin/sovereign-revocation-feeds/import', { feed }),
      status: 200,
      again: 409,
      effects: [count('sovereign_revocation_feeds', from), count('imported_sovereign_revocations', from)],
    }
  },
}

export const boundaryPolicyDeactivated: Transition = {
  event: 'boundary_policy_deactivated',
  async prepare(scene) {
    const policy_id = await publishedBoundaryPolicy(scene, true)
    return {
      send: operate(scene, `/admin/boundary-policies/${policy_id}/deactivate`, { version: 1 }),
      status: 200,
      again: 409,
      effects: [count('boundary_policies', `policy_id = '${policy_id}' and active = 0`)],
    }
  },
}

export const executorKeyRetired: Transition = {
  event: 'executor_key_retired',
  async prepare(scene) {
    const key = await executorKey(scene)
    await prepared(scene, '/admin/evidence/executor-keys', key)
    return {
      send: operate(scene, `/admin/evidence/executor-keys/${key.key_id}/retire`, {}),
      status: 200,
      again: 409,
      effects: [count('executor_keys', `key_id = '${key.key_id}' and retired_at is not null`)],
    }
  },
}

export const dataLicensePolicyCreated: Transition = {
  event: 'data_license_policy_created',
  prepare: async (scene) => ({
    send: operate(scene, '/admin/data-usage/policy', { licensee_sovereign_id: name(scene, 'licensee'), ...LICENSE }),
    status: 201,
    again: 201,
    effects: [count('data_license_policies')],
  }),
}

export const capabilityOfferBuilt: Transition = {
  event: 'capability_offer_built',
  // Signed and returned, not stored. Only the response under its idempotency key must exist once.
  async prepare(scene) {
    const body = {
      responder_sovereign_id: name(scene, 'PARTNER'),
      capabilities: ['secret.rotate'],
      scope: {},
      valid_from: LICENSE.valid_from,
      valid_until: LICENSE.valid_until,
      expires_at: LICENSE.valid_until,
    }
    return {
      send: operate(scene, '/admin/agreements/offer', body),
      status: 201,
      again: 201,
      effects: [count('idempotency_keys', 'answer_json is not null')],
    }
  },
}
