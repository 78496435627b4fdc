import { dirname, join } from 'node:path'
import type { Log } from '@chancery/service-kit'
import { type KeySource, openSigner } from './key-providers.ts'
import type { AuthoritySigner } from './own-keys.ts'

/** Finds a key of this authority by its public key, which the root signed. Undefined when it is not reachable here. */
export type FindKey = (keyId: string, publicKey: string) => Promise<AuthoritySigner | undefined>

/** How long a key service is not asked again for a key that it does not have. */
const ASKED_MS = 30_000
/** Versions of a key in a key service that are tried before and after the configured one. */
const VERSIONS = 8
/** Texts that are a name of a file, and no path. */
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/**
 * Looks where the settings say that the keys are: in the same folder under the name KEY-ID.key, in the same token under
 * the label KEY-ID, or as another version in the same key service. The database names only the key id. A key counts only
 * if it has the public key of the root's block.
 */
export function keyFinder(given: readonly (KeySource | undefined)[], log: Log): FindKey {
  const sources = given.filter((source) => source !== undefined)
  /** A token is not asked again for a key that was found. */
  const found = new Map<string, AuthoritySigner>()
  const missingUntil = new Map<string, number>()
  const isService = sources.some(({ provider }) => provider === 'vault' || provider === 'gcp-kms')
  return async (keyId, publicKey) => {
    const known = found.get(publicKey)
    if (known !== undefined) return { ...known, keyId }
    if (performance.now() < (missingUntil.get(publicKey) ?? 0)) return undefined
    for (const source of sources.flatMap((each) => [each, ...besides(each, keyId)])) {
      try {
        const signer = await openSigner(source, keyId, log)
        if (signer.publicKey !== publicKey) {
          signer.close?.()
          continue
        }
        found.set(publicKey, signer)
        return signer
      } catch (error) {
        // Not there, or not a key: the next place is tried. The caller reports a key that is nowhere.
        log.debug('no key here', { setting: source.setting, key_id: keyId, error })
      }
    }
    if (isService) missingUntil.set(publicKey, performance.now() + ASKED_MS)
    return undefined
  }
}

/** Where another key of the same authority may be. */
function besides(source: KeySource, keyId: string): readonly KeySource[] {
  if (source.provider === 'file')
    return FILE_NAME.test(keyId) ? [{ ...source, path: join(dirname(source.path), `${keyId}.key`) }] : []
  if (source.provider === 'pkcs11') return [{ ...source, keyLabel: keyId }]
  if (source.provider === 'vault')
    return versionsNear(source.keyVersion).map((keyVersion) => ({ ...source, keyVersion }))
  if (source.provider === 'gcp-kms') {
    const [, key = '', version = ''] = /^(.*\/)(\d+)$/.exec(source.keyVersion) ?? []
    return versionsNear(Number(version)).map((near) => ({ ...source, keyVersion: `${key}${near}` }))
  }
  // A variable holds one key.
  return []
}

function versionsNear(version: number): readonly number[] {
  return Array.from({ length: VERSIONS }, (_, at) => [version + at + 1, version - at - 1])
    .flat()
    .filter((each) => each > 0)
}
