import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkListAdvance, isJsonObject, positionOfList, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, JsonObject, RevocationList } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { TOOLS, ToolError } from '../state-command.ts'
import type { ToolResult } from '../state-command.ts'
import { Problems } from '../../policy/form.ts'
import { checkUrl } from '../../policy/urls.ts'
import { syncPath } from '../../state/state-file.ts'
import { readList, runChecks } from './checks.ts'
import type { PreflightCheck } from './checks.ts'
import { fetchKeyList, fetchPublished } from './documents.ts'
import { findCurrentKey, readFormerList } from './succession.ts'
import type { CurrentKey } from './succession.ts'

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
  const problems = new Problems()
  const origin = checkUrl(args.origin, '--origin', problems, { allowHttp: args.allowHttp, origin: true })
  if (origin === undefined) throw new ToolError(`--origin ${problems.list[0]?.message ?? ''}`)
  const published = await fetchPublished(origin)
  // Read after the responses, because a list may have been signed for this request.
  const now = systemClock.now()
  const list = readList(published.crl)
  const { network, rootKey } = args
  const current = await findCurrentKey(published, { network, authorityKey: args.authorityKey, rootKey, now })
  const checks = [
    ...current.checks,
    ...(await runChecks(published, { network, authorityKey: current.key, rootKey, now })),
    ...previousChecks(list, args, current, now),
  ]
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
    const former = await formerIssuers(current, origin, args, now)
    writeNew(args.fragmentFile, fragmentOf(list, origin, { ...args, authorityKey: current.key }, former))
  }
  const lines = checks.map(({ check, passed: holds }) => `${holds ? 'ok    ' : 'FAILED'} ${check}`)
  const text = [...lines, ...(current.note === undefined ? [] : [current.note])].join('\n')
  return { data: report, text, exitCode: passed ? 0 : 1 }
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

/**
 * Returns the former keys whose certificates are in use. Without their lists a gateway refuses nodes that have not
 * renewed yet.
 */
async function formerIssuers(
  { former }: CurrentKey,
  origin: URL,
  { allowHttp }: PreflightArguments,
  now: Instant,
): Promise<JsonObject> {
  const issuers: Record<string, JsonObject> = {}
  for (const key of former) {
    const list = await readFormerList(await fetchKeyList(origin, key.key_id), key, now)
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

function fragmentOf(
  list: RevocationList,
  origin: URL,
  { network, authorityKey, allowHttp }: PreflightArguments,
  former: JsonObject,
): JsonObject {
  return {
    [network]: {
      authority_url: origin.origin,
      crl_url: `${origin.origin}/crl`,
      allow_http: allowHttp,
      public_mesh: false,
      anchors: { [list.issuer]: authorityKey },
      minimum_crl_sequence: list.sequence,
      crl: { ...list },
      required_roles: [],
      ...former,
    },
  }
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
