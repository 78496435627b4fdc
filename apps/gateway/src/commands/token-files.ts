import { generateKeyPairSync } from 'node:crypto'
import { type JsonObject, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { resourceMetadata } from '../features/tokens/index.ts'
import { ConfigurationError, loadFiles } from '../policy/load-files.ts'
import { type TokenAlgorithm, readTokenKey, signingKeyOf } from '../policy/token-keys.ts'
import type { TokenResource } from '../policy/token-policy.ts'
import { loadSettings } from './start.ts'

const RSA_BITS = 3072

/** Makes a key that signs access tokens. The text is a secret. */
export function newTokenKey(alg: TokenAlgorithm): { readonly pem: string; readonly kid: string } {
  const encoding = { privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: PUBLIC } as const
  const { privateKey: pem } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256', ...encoding })
      : alg === 'EdDSA'
        ? generateKeyPairSync('ed25519', encoding)
        : generateKeyPairSync('rsa', { modulusLength: RSA_BITS, ...encoding })
  const read = readTokenKey(pem)
  if (read === undefined) throw new Error('a new key has the form that the policy reads')
  return { pem, kid: read.kid }
}

const PUBLIC = { type: 'spki', format: 'pem' } as const

export interface DescribedKey {
  readonly kid: string
  readonly alg: string
  readonly sign_from: string
  /** It signs the tokens of its algorithm now. */
  readonly signs: boolean
  readonly public_pem: string
}

/** Keys and resources of the policy that these settings name, checked as at a start. */
export async function describeTokens(
  envFile: string,
): Promise<{ readonly keys: readonly DescribedKey[]; readonly resources: readonly DescribedResource[] }> {
  const now = systemClock.now()
  const { loaded, problems } = loadFiles(await loadSettings(envFile), now)
  if (loaded === undefined) throw new ConfigurationError(problems)
  const { oauth } = loaded.configuration.policy
  if (oauth === undefined) return { keys: [], resources: [] }
  const keys = oauth.keys.map((key) => ({
    kid: key.kid,
    alg: key.alg,
    sign_from: writeInstant(key.signFrom),
    signs: signingKeyOf(oauth.keys, key.alg, now) === key,
    public_pem: key.publicKey.export(PUBLIC),
  }))
  const resources = [...oauth.resources.values()].map((resource) => ({
    name: resource.name,
    metadata: resourceMetadata(oauth, resource),
    challenge: challengeOf(resource),
    address: metadataAddress(resource),
  }))
  return { keys, resources }
}

export interface DescribedResource {
  readonly name: string
  /** The document that the service publishes (RFC 9728). */
  readonly metadata: JsonObject
  /** Where it publishes it. */
  readonly address: string
  /** Its `WWW-Authenticate` for a request without a token. */
  readonly challenge: string
}

function metadataAddress({ resource }: TokenResource): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

function challengeOf(resource: TokenResource): string {
  const scheme = resource.binding === 'bearer' ? 'Bearer' : 'DPoP'
  const scope = [...resource.scopes.keys()].toSorted().join(' ')
  return `${scheme} resource_metadata="${metadataAddress(resource)}", scope="${scope}"`
}
