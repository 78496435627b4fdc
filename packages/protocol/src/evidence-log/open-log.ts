import { type AuthorityKeys, allAuthorityKeys, authorityKeysAt } from '../artifacts/followed-keys.ts'
import { type LogIdentity, logIdentityForm } from '../artifacts/log-identity.ts'
import { asReceived, verifyReceived } from '../signing/received.ts'
import { type LogCheckpoint, logOrigin, openCheckpoint } from './note.ts'

/** The checkpoint of a note that one of the keys signed under this name. */
export async function openCheckpointByAny(
  note: string,
  origin: string,
  keys: readonly string[],
): Promise<LogCheckpoint | undefined> {
  for (const key of keys) {
    const opened = await openCheckpoint(note, origin, key)
    if (opened !== undefined) return opened
  }
  return undefined
}

/** The name of a log, and the keys whose checkpoints count. */
export interface LogTrust {
  readonly origin: string
  readonly keys: readonly string[]
}

/**
 * The log of an authority. Without a log identity it has the name that follows from the network, and only keys of the
 * authority sign it. Undefined for an identity that the authority did not sign for its network. `signers` are the keys
 * that count for a record of a date.
 */
export async function trustLog(
  keys: AuthorityKeys,
  identity: LogIdentity | null | undefined,
  signers: (date: string) => readonly string[] = (date) => authorityKeysAt(keys, date),
): Promise<LogTrust | undefined> {
  const own = allAuthorityKeys(keys)
  const { network_name } = keys.genesis
  if (identity === null || identity === undefined) return { origin: logOrigin(network_name), keys: own }
  if (identity.sovereign_id !== network_name || identity.signature?.key_id !== identity.issued_by) return undefined
  const verdict = await verifyReceived(asReceived(logIdentityForm, identity), signers(identity.issued_at))
  return verdict.ok ? { origin: identity.origin, keys: [...own, ...identity.public_keys] } : undefined
}

/** The checkpoint of a note of an authority. It has no date, so a former key may have signed it. */
export async function openLog(
  note: string,
  keys: AuthorityKeys,
  identity?: LogIdentity | null,
): Promise<LogCheckpoint | undefined> {
  const trust = await trustLog(keys, identity)
  return trust === undefined ? undefined : openCheckpointByAny(note, trust.origin, trust.keys)
}
