import type { JsonObject } from '@chancery/protocol'

export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

const TEXT: JsonObject = { type: 'string', minLength: 1, maxLength: 256 }
const TIME: JsonObject = { type: 'string', format: 'date-time' }
const TEXTS: JsonObject = { type: 'array', items: { type: 'string' } }

/** Schemas of protocol/gateway 11, with the limits of 2.5. */
export const SCHEMAS: JsonObject = {
  Signature: {
    type: 'object',
    required: ['key_id', 'sig'],
    additionalProperties: false,
    properties: { key_id: TEXT, sig: { type: 'string', minLength: 88, maxLength: 88 } },
  },
  JoinCertificate: {
    type: 'object',
    required: ['cert_id', 'node_public_key', 'network_name', 'issued_at', 'expires_at', 'issued_by'],
    additionalProperties: false,
    properties: {
      cert_id: TEXT,
      node_public_key: { type: 'string', minLength: 44, maxLength: 44 },
      network_name: TEXT,
      roles: { type: 'array', maxItems: 32, default: [], items: { type: 'string', maxLength: 128 } },
      issued_at: TIME,
      expires_at: TIME,
      issued_by: TEXT,
      signatures: { type: 'array', maxItems: 8, default: [], items: ref('Signature') },
    },
  },
  Decision: {
    type: 'object',
    description: 'A 200 does not mean trust; `trusted` does.',
    required: ['trusted', 'reasons', 'findings', 'evaluation'],
    properties: {
      trusted: { type: 'boolean' },
      reasons: TEXTS,
      findings: {
        type: 'array',
        items: { type: 'object', required: ['code'], properties: { code: { type: 'string' } } },
      },
      evaluation: {
        type: 'object',
        properties: {
          evaluated_at: TIME,
          policy_revision: { type: 'string' },
          network: { type: 'string' },
          issuer: { type: ['string', 'null'] },
          crl_sequence: { type: ['integer', 'null'] },
          crl_next_update: { type: ['string', 'null'] },
          recheck_after: TIME,
        },
      },
    },
  },
  Error: {
    description: 'A refusal of the gateway. `error` is an object in a response of the authority.',
    type: 'object',
    required: ['error'],
    properties: {
      error: { type: ['string', 'object'] },
      code: { type: 'string' },
      reason: { type: 'string' },
      request_id: { type: 'string' },
      details: { type: 'object' },
      outcome_uncertain: { type: 'boolean' },
    },
  },
}

export const VERIFY_BODY: JsonObject = {
  schema: {
    type: 'object',
    required: ['certificate'],
    additionalProperties: false,
    properties: { certificate: ref('JoinCertificate') },
  },
}

export const BATCH_BODY: JsonObject = {
  schema: {
    type: 'object',
    required: ['certificates'],
    additionalProperties: false,
    properties: { certificates: { type: 'array', minItems: 1, items: ref('JoinCertificate') } },
  },
}
