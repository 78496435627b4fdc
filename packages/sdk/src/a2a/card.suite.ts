import { draftGenesisBlock, instantOf, seedSigner, signList } from '@chancery/protocol'
import type {
  AuthorityKeys,
  GenesisBlock,
  Instant,
  JoinCertificate,
  JsonObject,
  RecognitionTreaty,
  Signer,
} from '@chancery/protocol'
import { type TestIssuer, testIssuer, testList, testSeed } from '@chancery/testkit'
import { RelyingParty } from '../verify/relying-party.ts'

export const NOW: Instant = instantOf('2030-01-02T03:00:00Z')

/** A card as an author writes it, without certificate and signature. */
export const CARD = {
  name: 'Printer ö',
  description: 'Prints "documents".',
  version: '1.2.0',
  supportedInterfaces: [
    { url: 'https://print.example.org/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://print.example.org/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 't' },
  ],
  provider: { url: 'https://example.org', organization: 'Example' },
  capabilities: { streaming: false, pushNotifications: true },
  securitySchemes: {
    z: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
    a: {
      oauth2SecurityScheme: {
        flows: {
          authorizationCode: { authorizationUrl: 'https://a/', tokenUrl: 'https://t/', scopes: { p: 'Print' } },
        },
      },
    },
  },
  securityRequirements: [{ schemes: { a: { list: ['p'] } } }],
  defaultInputModes: ['application/pdf'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'print', name: 'Print', description: 'Prints a file \u2028 at once.', tags: ['paper', 'printer'] }],
} as const satisfies JsonObject

/** A network with one node, as a card needs it. */
export interface CardNetwork {
  readonly by: TestIssuer
  readonly genesis: GenesisBlock
  readonly keys: AuthorityKeys
  readonly node: Signer
  readonly certificate: JoinCertificate
  party(revoked?: readonly string[], at?: Instant): Promise<RelyingParty>
}

export async function cardNetwork(network: string, roles: readonly string[] = ['role:client']): Promise<CardNetwork> {
  const by = await testIssuer(network, `na-${network}`)
  const root = await seedSigner('root', testSeed(`root-${network}`))
  const node = await seedSigner('node', testSeed(`node-${network}`))
  const validity = { valid_from: '2030-01-01T00:00:00Z', valid_to: '2031-01-01T00:00:00Z' }
  const network_authority = { public_key: by.signer.publicKey, ...validity }
  const draft = draftGenesisBlock({ network_name: network, root_public_key: root.publicKey, network_authority })
  const genesis = await signList(draft, root)
  const certificate = await signList(
    {
      cert_id: `cert-${network}`,
      node_public_key: node.publicKey,
      network_name: network,
      roles,
      issued_at: '2030-01-02T02:00:00Z',
      expires_at: '2030-01-03T02:00:00Z',
      issued_by: by.keyId,
      signatures: [],
    },
    by.signer,
  )
  return {
    by,
    genesis,
    keys: { genesis },
    node,
    certificate,
    party: async (revoked = [], at = NOW) => {
      const crl = await testList(by, at, { entries: revoked.map((certificate_id) => ({ certificate_id })) })
      return RelyingParty.open({ network, anchors: { [by.keyId]: by.signer.publicKey }, crl })
    },
  }
}

/** A treaty of one network on the other. */
export function treatyOn(
  issuer: CardNetwork,
  subject: CardNetwork,
  changes: Partial<RecognitionTreaty> = {},
): Promise<RecognitionTreaty> {
  const treaty: RecognitionTreaty = {
    treaty_id: 'treaty-1',
    issuer_sovereign_id: issuer.genesis.network_name,
    subject_sovereign_id: subject.genesis.network_name,
    subject_public_keys: [subject.by.signer.publicKey],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    status: 'active',
    issued_at: '2030-01-01T00:00:00Z',
    valid_from: '2030-01-01T00:00:00Z',
    expires_at: '2030-02-01T00:00:00Z',
    issued_by: issuer.by.keyId,
    metadata: {},
    signatures: [],
    ...changes,
  }
  return signList(treaty, issuer.by.signer)
}

/** Deep copy with one member changed; `undefined` removes it. */
export function changed(card: JsonObject, path: readonly (string | number)[], value: unknown): JsonObject {
  const copy = structuredClone(card) as Record<string | number, unknown>
  let at = copy
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>
  const last = path.at(-1) ?? ''
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy as JsonObject
}
