import { type KeyObject, generateKeyPairSync, sign } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  seconds,
  signClientAssertion,
  thumbprintOf,
  toBase64Url,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Attestation, JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import { accepted, enroll, nodeCaller, testClient, testSigner } from '@chancery/testkit'
import type { GatewayResponse, TestClient } from '@chancery/testkit'
import {
  type DecidingGateway,
  type DecidingOptions,
  startDecidingGateway,
} from '../decisions/deciding-gateway.suite.ts'

export const ISSUER = 'https://gw.example'
export const RESOURCE = 'https://ledger.example/api'

/** A node of the network that decides, with a separate attestation. */
export interface TokenNode {
  readonly signer: Signer
  readonly certificate: JoinCertificate
  readonly attestation: Attestation
}

export interface TokenGateway {
  readonly setup: DecidingGateway
  readonly node: TokenNode
  readonly server: TestClient
  /** Sends a token request; members replace those of the form. */
  ask(options?: TokenAsk): Promise<GatewayResponse>
  /** The policy of a reload. */
  oauth(changes?: JsonObject): JsonObject
  keyEntry(name: string, fromSeconds: number, immediate?: boolean): Promise<JsonObject>
}

export interface TokenAsk {
  readonly node?: TokenNode
  readonly form?: Readonly<Record<string, string | undefined>>
  readonly assertion?: string
  readonly proof?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

interface TokenOptions extends Omit<DecidingOptions, 'policy'> {
  readonly oauth?: JsonObject
  readonly resource?: JsonObject
}

/** A gateway that issues tokens for one service, before a real authority. */
export async function startTokenGateway(options: TokenOptions): Promise<TokenGateway> {
  const home = await mkdtemp(join(tmpdir(), 'chancery-tokens-'))
  const server = testClient('ledger', ['TEST-NET'], { introspection: ['ledger'] })
  const keyEntry = async (name: string, fromSeconds: number, immediate = false): Promise<JsonObject> => {
    const file = join(home, `${name}.pem`)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
    return { file, sign_from: writeInstant(NOW + seconds(fromSeconds)), ...(immediate ? { immediate } : {}) }
  }
  const first = await keyEntry('first', -3600)
  const oauth = (changes: JsonObject = {}): JsonObject => ({
    issuer: ISSUER,
    signing_keys: [first],
    resources: {
      ledger: {
        resource: RESOURCE,
        scopes: { read: 'print', append: 'print.more', never: 'never' },
        metadata: true,
        ...options.resource,
      },
    },
    ...options.oauth,
    ...changes,
  })
  const { clients = [], ...rest } = options
  const setup = await startDecidingGateway({ ...rest, clients: [...clients, server], policy: { oauth: oauth() } })
  const node = await joinNode(setup, 'agent')
  return {
    setup,
    node,
    server,
    oauth,
    keyEntry,
    ask: async (asked = {}) => {
      const by = asked.node ?? node
      const form = {
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: asked.assertion ?? (await assertionOf(by, setup)),
        resource: RESOURCE,
        scope: 'read',
        ...asked.form,
      }
      const given = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
      const proof = 'proof' in asked ? asked.proof : proofOf(KEY, setup)
      return setup.gateway.request('POST', '/oauth/token', {
        rawBody: new URLSearchParams(given).toString(),
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(proof === undefined ? {} : { dpop: proof }),
          ...asked.headers,
        },
      })
    },
  }
}

/** The start of the clock of a deciding gateway. */
const NOW = 1_767_323_045_678_000n

const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }

function publicJwk({ publicKey }: KeyPair): Record<string, string> {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return { crv: 'P-256', kty: 'EC', x, y }
}

/** Thumbprint of the DPoP key of the tests. */
export function proofKey(key: KeyPair = KEY): string {
  return thumbprintOf(publicJwk(key))
}

const encode = (value: JsonObject): string => toBase64Url(toUtf8(writeJson(value)))

/** A DPoP proof for the token endpoint. */
export function proofOf(key: KeyPair, { clock }: Pick<DecidingGateway, 'clock'>, claims: JsonObject = {}): string {
  const about = { jti: crypto.randomUUID(), htm: 'POST', htu: `${ISSUER}/oauth/token` }
  const iat = Number(clock.now() / seconds(1))
  const input = `${encode({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicJwk(key) })}.${encode({ ...about, iat, ...claims })}`
  const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

/** A client assertion that names the DPoP key of the tests. */
export function assertionOf(
  { signer, certificate, attestation }: TokenNode,
  { clock }: Pick<DecidingGateway, 'clock'>,
  facts: { readonly audience?: string; readonly jti?: string } = {},
): Promise<string> {
  const { audience = ISSUER, jti = crypto.randomUUID() } = facts
  return signClientAssertion(
    { audience, certificate, attestation, proofKey: proofKey(), jti, now: clock.now() },
    signer,
  )
}

/** Joins a node and attests it. */
async function joinNode(setup: DecidingGateway, name: string): Promise<TokenNode> {
  const signer = await testSigner('node', `token-${name}`)
  const certificate = await enroll(
    setup.na,
    nodeCaller(setup.na.url, signer, () => setup.clock.now()),
  )
  const members = { subject_public_key: signer.publicKey, claims: { capabilities: ['print', 'print.more'] } }
  const id = await setup.attest(members)
  const { attestation } = accepted(await setup.na.request('GET', `/attestations/${id}`))
  return { signer, certificate, attestation: attestation as unknown as Attestation }
}
