import { FormError, type GenesisBlock, type JsonObject, readGenesisBlock, verifyGenesisBlock } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { fetchPublished, maxBytesOf } from './documents.ts'
import { toNetworkEntry } from './network-entry.ts'
import { checkAuthority, readOrigin } from './preflight.ts'

export interface PinArguments {
  readonly origin: string
  /** Received out of band: it decides whether this is the authority of the network. */
  readonly rootKey: string
  /** Name of the network, where it is known. */
  readonly network?: string
  readonly allowHttp: boolean
}

export interface PinnedNetwork {
  readonly genesis: GenesisBlock
  /** The member of `networks` in a policy. */
  readonly entry: JsonObject
  readonly passed: number
  /** Advice for the operator, for example about a new key. */
  readonly note: string | undefined
}

export type PinProblem =
  | { readonly code: 'no_genesis' }
  | { readonly code: 'document_too_large'; readonly path: string; readonly maxBytes: number }
  | { readonly code: 'genesis_invalid'; readonly reason: string }
  | { readonly code: 'root_key_mismatch' | 'other_network'; readonly found: string }
  | { readonly code: 'preflight_failed'; readonly failed: readonly string[]; readonly note: string | undefined }

/**
 * Makes the entry of a network for a policy from the address of its authority and its root key. The name and the key
 * come from the served genesis block, and only after the given root key has verified it. Writes nothing.
 */
export async function pinNetwork(args: PinArguments): Promise<PinnedNetwork | PinProblem> {
  const { rootKey, allowHttp } = args
  const origin = readOrigin('The address of the authority', args.origin, allowHttp)
  const published = await fetchPublished(origin, allowHttp)
  if (published.genesis === undefined) return { code: 'no_genesis' }
  const genesis = await readVerified(published.genesis)
  if (typeof genesis === 'string') return { code: 'genesis_invalid', reason: genesis }
  const { network_name: network, network_authority: authority, root_public_key: found } = genesis
  if (found !== rootKey) return { code: 'root_key_mismatch', found }
  if (args.network !== undefined && args.network !== network) return { code: 'other_network', found: network }
  const [path] = published.tooLarge
  if (path !== undefined) return { code: 'document_too_large', path, maxBytes: maxBytesOf(path) }
  // Read after the responses, because a list may have been signed for this request.
  const now = systemClock.now()
  const expected = { network, authorityKey: authority.public_key, rootKey, now }
  const { checks, current, list } = await checkAuthority(published, expected)
  const failed = checks.filter(({ passed }) => !passed).map(({ check }) => check)
  if (failed.length > 0 || list === undefined) return { code: 'preflight_failed', failed, note: current.note }
  const entry = await toNetworkEntry(list, current, { origin, allowHttp, now, rootKey })
  return { genesis, entry, passed: checks.length, note: current.note }
}

/** Returns a block that its own root key signed, or the reason why it is not valid. */
async function readVerified(value: JsonObject): Promise<GenesisBlock | string> {
  try {
    const block = readGenesisBlock(value)
    const verdict = await verifyGenesisBlock(block)
    return verdict.ok ? block : verdict.reason
  } catch (error) {
    if (error instanceof FormError) return error.message
    throw error
  }
}
