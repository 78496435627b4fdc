import { ANNOUNCEMENT_SURFACE, CACHE_CONTROL, DRY_RUN_SURFACE, Refusal } from '@chancery/contract'
import { type JsonObject, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import { baseUrl } from '../../requests/base-url.ts'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { NewestBlock } from '../../signing/newest-block.ts'

export interface SovereignParts extends Pick<Core, 'keys' | 'network' | 'newestBlock' | 'signing'> {
  readonly settings: Pick<AuthoritySettings, 'publicUrl'>
}

/**
 * GET /key-succession
 * Returns the newest block and history of the root. Followers verify both with their root key. Everything else in the
 * response is only a hint.
 */
export async function keySuccession(_call: Call, parts: SovereignParts): Promise<CachedDocument> {
  const newest = await parts.newestBlock.readOrLast()
  if (newest === undefined) throw new Refusal('key_history_not_found')
  const cached = documents.get(newest) ?? write(newest, parts)
  documents.set(newest, cached)
  return cached
}

/** Serialised, hashed and compressed once, because it is public and may have megabytes with its first list. */
const documents = new WeakMap<NewestBlock, CachedDocument>()

function write(newest: NewestBlock, { signing }: SovereignParts): CachedDocument {
  const { phase, genesisText, historyText, firstListText } = newest
  const text =
    `{"phase":"${phase}","current_public_key":"${signing.publicKey}","genesis":${genesisText},` +
    `"key_history":${historyText},"first_list":${firstListText ?? 'null'}}`
  return new CachedDocument(toUtf8(text), CACHE_CONTROL.publishedDocuments)
}

/** Addresses for other sovereigns (protocol/core 19). */
const SURFACES = {
  genesis: '/genesis',
  recognition_treaties: '/recognition-treaties',
  sovereign_revocation_feed: '/sovereign-revocation-feed',
  sovereign_revocation_feed_index: '/sovereign-revocation-feed/index',
  connectome: '/connectome.json',
  recognition_graph: '/recognition-graph',
  atlas: '/atlas.json',
  swagger: '/swagger.json',
  surfaces: '/surfaces',
  api_reference: '/api-reference',
  cli_reference: '/cli-reference',
  // Every address here accepts a GET. This one describes the routes that verify a member.
  [DRY_RUN_SURFACE]: '/swagger.json',
} as const

/** Only while the next key is announced, so that partners need not ask for it on every pull. */
const ANNOUNCING = { [ANNOUNCEMENT_SURFACE]: '/key-succession' } as const

/**
 * GET /sovereign.json
 * Returns what another network needs to address this one. No operator keys, no paths, nothing of the installation.
 */
export async function metadata(call: Call, parts: SovereignParts): Promise<JsonObject> {
  const { genesis } = parts.network
  const endpoint = baseUrl(call, parts)
  const newest = await parts.newestBlock.readOrLast()
  const surfaces = newest?.phase === 'announced' ? { ...SURFACES, ...ANNOUNCING } : SURFACES
  return {
    sovereign_id: genesis.network_name,
    network_name: genesis.network_name,
    network_version: genesis.network_version,
    endpoint,
    network_authority: genesis.network_authority,
    root_public_key: genesis.root_public_key,
    policy_manifest: genesis.policy_manifest,
    bootstrap_anchor_count: genesis.bootstrap_anchors.length,
    supported_surfaces: Object.fromEntries(Object.entries(surfaces).map(([name, path]) => [name, endpoint + path])),
  }
}
