import { type Signer, seedSigner, sha256, toBase64, toUtf8 } from '@chancery/protocol'

/** Data of the demo. It is the same every time, including the keys, so the network must not be exposed. */
export const NETWORK = 'DEMO-HARBOUR'

export interface Partner {
  readonly name: string
  readonly validityHours: number
  readonly roles: readonly string[]
  /** Revoked after it was issued, for this reason. */
  readonly endedBecause?: string
  /** Members whose attestations the partner revoked. */
  readonly withdrew: readonly string[]
}

export const PARTNERS: readonly Partner[] = [
  {
    name: 'MERIDIAN-HEALTH',
    validityHours: 2160,
    roles: ['role:client', 'role:service'],
    withdrew: ['meridian-member-0042'],
  },
  {
    name: 'NORTHWIND-FREIGHT',
    validityHours: 720,
    roles: ['role:client'],
    withdrew: ['northwind-member-0007', 'northwind-member-0311'],
  },
  { name: 'FJORD-BANK', validityHours: 1440, roles: ['role:client'], withdrew: [] },
  // Ends within 72 hours on purpose, so that the console shows its warning.
  { name: 'OSPREY-GRID', validityHours: 30, roles: ['role:service'], withdrew: [] },
  {
    name: 'OLD-LIGHTHOUSE',
    validityHours: 720,
    roles: ['role:client'],
    endedBecause: 'relationship_ended',
    withdrew: [],
  },
]

export const NODE_ROLES: readonly (readonly string[])[] = [
  ['role:client'],
  ['role:client', 'role:service'],
  ['role:service'],
]

export const CAPABILITIES: readonly string[] = [
  'quote.freight',
  'pay.invoice',
  'read.manifest',
  'book.berth',
  'weigh.cargo',
]

/** Derives the key seed from the name, so that every demo has the same keys. */
export function demoSeed(name: string): string {
  return toBase64(sha256(toUtf8(`chancery demo, known to everybody: ${name}`)))
}

export function demoSigner(keyId: string, name: string = keyId): Promise<Signer> {
  return seedSigner(keyId, demoSeed(name))
}

/** A limit on single amounts, as a typical first policy. */
export function spendingPolicy(validFrom: string, validUntil: string, max: number): Record<string, string | object> {
  return {
    policy_id: 'spending',
    valid_from: validFrom,
    valid_until: validUntil,
    gates: [
      { gate_id: 'amount', gate_type: 'max_value.v1', order: 0, config: { path: 'request_parameters.amount', max } },
    ],
  }
}
