import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  FormError,
  checkListAdvance,
  isJsonObject,
  positionOfList,
  readGenesisBlock,
  readJson,
  verifyGenesisBlock,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject, RevocationList } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { TOOLS, ToolError, type ToolResult } from '../state-command.ts'
import { Problems } from '../../policy/form.ts'
import { checkUrl } from '../../policy/urls.ts'
import { syncPath } from '../../state/state-file.ts'
import { type Expected, type PreflightCheck, readList, checkPublished } from './checks.ts'
import { type PublishedDocuments, fetchPublished, maxBytesOf } from './documents.ts'
import { type CurrentKey, findCurrentKey, toNetworkEntry } from './succession.ts'

export interface PreflightArguments {
  readonly origin: string
  readonly network: string
  readonly authorityKey: string
  readonly rootKey: string | undefined
  readonly allowHttp: boolean
  readonly reportFile: string | undefined
  readonly fragmentFile: string | undefined
  /** Fragment of an earlier run. No sequence may be lower than in it. */
  readonly previousFile: string | undefined
}

const COVERAGE =
  'A wire preflight: the published documents are consistent with the given inputs. It is not conformance.'
const REMAINING = [
  'scoped treaty exchange',
  'acceptance before revocation',
  'rejection after propagation',
  'continuity over restart and key rotation',
]

/** `gateway preflight`: checks an authority without any signing key and without changes (protocol/gateway 19). */
export async function preflight(args: PreflightArguments): Promise<ToolResult> {
  const origin = readOrigin('--origin', args.origin, args.allowHttp)
  const published = await fetchPublished(origin, args.allowHttp)
  // Read after the responses, because a list may have been signed for this request.
  const now = systemClock.now()
  const checked = await checkAuthority(published, { ...args, now })
  const { current, list } = checked
  const checks = [...checked.checks, ...previousChecks(list, args, current, now)]
  const passed = checks.every((each) => each.passed)
  const report = {
    network: args.network,
    checked_at: writeInstant(now),
    passed,
    checks,
    ...(current.note === undefined ? {} : { note: current.note }),
    coverage: args.rootKey === undefined ? `${COVERAGE} The root key was taken from the authority itself.` : COVERAGE,
    remaining_proofs: REMAINING,
  }
  if (args.reportFile !== undefined) writeNew(args.reportFile, report)
  if (passed && list !== undefined && args.fragmentFile !== undefined) {
    const { network, allowHttp, rootKey } = args
    const entry = await toNetworkEntry(list, current, { origin, allowHttp, now, rootKey })
    writeNew(args.fragmentFile, { [network]: entry })
  }
  const lines = checks.map(({ check, passed: holds }) => `${holds ? 'ok    ' : 'FAILED'} ${check}`)
  const text = [...lines, ...(current.note === undefined ? [] : [current.note])].join('\n')
  return { data: report, text, exitCode: passed ? 0 : 1 }
}

/** Returns the address of an authority, by the rules of `authority_url` in a policy. */
function readOrigin(name: string, text: string, allowHttp: boolean): URL {
  const problems = new Problems()
  const origin = checkUrl(text, name, problems, { allowHttp, origin: true })
  if (origin === undefined) throw new ToolError(`${name} ${problems.list[0]?.message ?? ''}`)
  return origin
}

export interface AuthorityCheck {
  readonly current: CurrentKey
  readonly list: RevocationList | undefined
  readonly checks: readonly PreflightCheck[]
}

/** Follows a key succession and runs all checks of protocol/gateway 19. */
async function checkAuthority(published: PublishedDocuments, expected: Expected): Promise<AuthorityCheck> {
  const { network, authorityKey, rootKey, now } = expected
  const current = await findCurrentKey(published, { network, authorityKey, rootKey, now })
  const checks = await checkPublished(published, { network, authorityKey: current.key, rootKey, now })
  return { current, list: readList(published.crl), checks: [...current.checks, ...checks] }
}

function previousChecks(
  list: RevocationList | undefined,
  { previousFile, network }: PreflightArguments,
  { former }: CurrentKey,
  now: Instant,
): PreflightCheck[] {
  if (previousFile === undefined) return []
  const value = readJson(readFileSync(previousFile, 'utf8'))
  const entry = isJsonObject(value) ? value[network] : undefined
  const crl = isJsonObject(entry) ? entry['crl'] : undefined
  const previous = readList(isJsonObject(crl) ? crl : undefined)
  // After a key succession the list continues under the id of the new key, with the next sequence.
  const isFormer = former.some((key) => key.key_id === previous?.issuer)
  const passed =
    previous !== undefined &&
    list !== undefined &&
    checkListAdvance(
      { ...positionOfList(previous), ...(isFormer ? { issuer: list.issuer } : {}) },
      positionOfList(list),
      now,
    ).ok
  return [{ check: 'crl_advance', passed }]
}

/** Writes the whole file or nothing, and never replaces a file. */
function writeNew(file: string, value: JsonObject): void {
  const draft = `${file}.${TOOLS.ids.hex(12)}`
  try {
    writeFileSync(draft, `${writeJson(value)}\n`, { flag: 'wx', mode: 0o600 })
    syncPath(draft)
    linkSync(draft, file)
    syncPath(dirname(file))
  } catch (error) {
    throw new ToolError(`${file} exists already or cannot be written`, { cause: error })
  } finally {
    rmSync(draft, { force: true })
  }
}

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
