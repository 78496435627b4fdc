import { JsonFloat } from '@chancery/protocol'
import type {
  AgentDescriptor,
  Crl,
  GenesisBlock,
  JoinCertificate,
  JsonObject,
  PolicyManifest,
} from '@chancery/protocol'

/** Keys of protocol/core 1.7. */
export const OPERATOR_SEED = 'XhmEnsx04p8ewgwmVyAONyrhiodL06VX+gWCgzwNEcE='
export const NA_PUBLIC_KEY = 'xkDJSaRh6CbP8CHxk12w600CYuv9TFCLIS3hemfVvJE='
export const ROOT_PUBLIC_KEY = 'okOTSeIwJVLj0uklq1BruYSD3C7IyulFHoorlo7Dmhk='
export const PARTNER_PUBLIC_KEY = 'FWxV5KPAG28PqQ20lCvRmUsOjMVzadpN56I1bkBPX1o='

const authority: GenesisBlock['network_authority'] = {
  public_key: NA_PUBLIC_KEY,
  valid_from: '2030-01-01T00:00:00Z',
  valid_to: '2030-04-01T00:00:00Z',
}

export const METADATA: JsonObject = {
  sovereign_id: 'EXAMPLE-NET',
  network_name: 'EXAMPLE-NET',
  network_version: 'v0.1',
  endpoint: 'http://na',
  network_authority: authority,
  root_public_key: ROOT_PUBLIC_KEY,
  policy_manifest: { hash: 'sha256:placeholder', url: null },
  bootstrap_anchor_count: 0,
  supported_surfaces: { genesis: 'http://na/genesis' },
}

/** The example of protocol/core 10.1 with its signature. */
export const POLICY: PolicyManifest = {
  policy_id: 'policy-EXAMPLE-NET-v0.1',
  issued_at: '2030-01-01T00:00:01Z',
  issued_by: 'na-example',
  min_client_version: '0.1.0',
  allowed_ports: [443, 8443],
  allowed_services: ['service-1', 'service-2'],
  routing: { max_hops: 6, preferred_transports: ['quic', 'wireguard'] },
  signatures: [
    {
      key_id: 'na-example',
      sig: 'KycJwKU00Uc0NXT1hOWduBUsqLdRAT7NF83xZTGxVBt+TmieNFrJoh6l54M6AvVGku+YS7bh1dBUVWNCWFvIAw==',
    },
  ],
}

/** The examples of protocol/core 4 and 9.1. */
export const GENESIS: GenesisBlock = {
  network_name: 'EXAMPLE-NET',
  network_version: 'v0.1',
  root_public_key: ROOT_PUBLIC_KEY,
  network_authority: authority,
  allowed_crypto_suites: ['ed25519', 'x25519'],
  allowed_transports: ['quic', 'wireguard'],
  policy_manifest: { hash: 'sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae', url: null },
  bootstrap_anchors: [{ id: 'anchor-1', endpoint: '198.51.100.7:7448' }],
  signatures: [
    {
      key_id: 'rs-example',
      sig: 'AvjctoAlNSs9VTTGpTomKFebprMWyNbXzYbCOgr6hvJRX0SZYsbQYglvrsBn9pydbyZBq1Pn+8PsX2O0ARpADQ==',
    },
  ],
}

export const CRL: Crl = {
  crl_id: 'c0ffee00-0000-4000-8000-000000000001',
  sequence: 1,
  issued_at: '2030-01-03T12:30:00Z',
  next_update: '2030-01-04T12:30:00Z',
  issuer: 'na-example',
  revoked_certificates: [
    {
      certificate_id: '7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6',
      revoked_at: '2030-01-03T12:30:00Z',
      reason: 'key_compromise',
      issuer: 'na-example',
    },
  ],
  signatures: [
    {
      key_id: 'na-example',
      sig: '4M6g7n1W5+A5TMrTyqotPieQ5bRcQd1yoPEiNd2Bu9gxisQDMBcRqoIhmQw2AmsI6XKsvLs8Ym7gd63h9P5eAA==',
    },
  ],
}

export const NODE_SEED = 'OAXMe5ZBwbwYwas8DedkshQy7tzzi0r41r+JxoNez7A='
export const NODE_PUBLIC_KEY = 'vPWW8KlHWZam8algWIUjYgtx4HrNTCtKg9obu+iqYIU='

/** The examples of protocol/core 6 and 13.1. */
export const CERTIFICATE: JoinCertificate = {
  cert_id: '7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6',
  node_public_key: NODE_PUBLIC_KEY,
  network_name: 'EXAMPLE-NET',
  roles: ['role:anchor', 'role:service:index'],
  issued_at: '2030-01-02T03:04:06.000123Z',
  expires_at: '2030-01-05T03:04:06.000123Z',
  issued_by: 'na-example',
  signatures: [
    {
      key_id: 'na-example',
      sig: 'CGg7scilV2GG3uoAbeh5k7rt0pk7O8qb7Y0narJyC3fqxzKhRHcMz5YCuIRfjjhEQPOagbdhHWL8tJtNORW3CQ==',
    },
  ],
}

export const DESCRIPTOR: AgentDescriptor = {
  agent_id: 'llm-1',
  node_public_key: NODE_PUBLIC_KEY,
  network_name: 'EXAMPLE-NET',
  capabilities: ['llm:chat', 'kb:security'],
  endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
  registered_at: '2030-01-02T03:10:00Z',
  expires_at: '2030-01-02T03:20:00Z',
  metadata: { model: 'm-1', temperature: new JsonFloat(0.5) },
  signatures: [
    {
      key_id: NODE_PUBLIC_KEY,
      sig: 'yDGYnx5f4s0zGdJCQ1+5WSVGhvQ2pN0CYxwPQ1DgsBE+RL6QjAcjKNxpd9agz8kvcFOVaTgpxzVfUpxP0K9aBA==',
    },
  ],
}
