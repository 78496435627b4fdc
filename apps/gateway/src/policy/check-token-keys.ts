import { X509Certificate } from 'node:crypto'
import { type Instant, fromBase64Url, toBase64 } from '@chancery/protocol'
import type { NetworkPolicy } from './policy.ts'
import type { TlsMaterial } from './tls-files.ts'
import { type TokenKey, signingKeyOf } from './token-keys.ts'
import type { OauthPolicy } from './token-policy.ts'

/** A resource without a key could get no token. A key with two uses would be worth both to a thief. */
export function tokenKeyProblems(
  { keys, resources }: OauthPolicy,
  { networks }: { readonly networks: ReadonlyMap<string, NetworkPolicy> },
  tls: TlsMaterial | undefined,
  now: Instant,
): readonly string[] {
  const algorithms = new Set([...resources.values()].map(({ alg }) => alg))
  const missing = [...algorithms].filter((alg) => signingKeyOf(keys, alg, now) === undefined)
  const others = new Set<string | undefined>([...networks.values()].flatMap(publicKeysOf))
  const server = tls && new X509Certificate(tls.cert).publicKey
  const isUsedTwice = keys.some(
    (key) => others.has(ed25519Of(key)) || (server !== undefined && key.publicKey.equals(server)),
  )
  return [
    ...missing.map((alg) => `have no key for ${alg} that signs now`),
    ...(isUsedTwice ? ['have a key of another use: of a node, an operator, an authority or of TLS'] : []),
  ]
}

/** Ed25519 keys that this policy names for other uses. */
function publicKeysOf({ anchorTexts, rootKey, decisions, formerKeys }: NetworkPolicy): readonly string[] {
  const former = formerKeys.map(({ public_key }) => public_key)
  const single = [rootKey, decisions?.signer.publicKey].filter((each) => each !== undefined)
  return [...Object.values(anchorTexts), ...former, ...single]
}

function ed25519Of({ alg, publicKey }: TokenKey): string | undefined {
  const bytes = alg === 'EdDSA' ? fromBase64Url(publicKey.export({ format: 'jwk' }).x ?? '') : undefined
  return bytes && toBase64(bytes)
}
