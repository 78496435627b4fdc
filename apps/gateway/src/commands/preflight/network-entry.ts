import type { Instant, JsonObject, RevocationList } from '@chancery/protocol'
import { fetchKeyList } from './documents.ts'
import { type CurrentKey, readFormerList } from './succession.ts'

export interface EntrySource {
  readonly origin: URL
  readonly allowHttp: boolean
  readonly now: Instant
  /** Received out of band: the gateway follows key successions by it. Undefined when it was not given. */
  readonly rootKey: string | undefined
}

/** Returns the member of `networks` in a policy for an authority that passed every check. */
export async function toNetworkEntry(
  list: RevocationList,
  current: CurrentKey,
  source: EntrySource,
): Promise<JsonObject> {
  const { origin, allowHttp, rootKey } = source
  return {
    authority_url: origin.origin,
    crl_url: `${origin.origin}/crl`,
    allow_http: allowHttp,
    ...(rootKey === undefined ? {} : { root_public_key: rootKey }),
    public_mesh: false,
    anchors: { [list.issuer]: current.key },
    minimum_crl_sequence: list.sequence,
    crl: { ...list },
    required_roles: [],
    ...(await formerIssuers(current, source)),
    ...(current.former.length === 0 ? {} : { former_keys: current.former }),
  }
}

/**
 * Returns the former keys whose certificates are in use. Without their lists a gateway refuses nodes that have not
 * renewed yet.
 */
async function formerIssuers({ former }: CurrentKey, { origin, allowHttp, now }: EntrySource): Promise<JsonObject> {
  const issuers: Record<string, JsonObject> = {}
  for (const key of former) {
    const list = await readFormerList(await fetchKeyList(origin, key.key_id, allowHttp), key, now)
    if (list === undefined) continue
    issuers[key.key_id] = {
      crl_url: `${origin.origin}/crl/keys/${encodeURIComponent(key.key_id)}`,
      allow_http: allowHttp,
      anchors: { [key.key_id]: key.public_key },
      minimum_crl_sequence: list.sequence,
      crl: { ...list },
    }
  }
  return Object.keys(issuers).length === 0 ? {} : { additional_issuers: issuers }
}
