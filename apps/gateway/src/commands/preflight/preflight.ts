import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkListAdvance, isJsonObject, positionOfList, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, JsonObject, RevocationList } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { TOOLS, ToolError, type ToolResult } from '../state-command.ts'
import { Problems } from '../../policy/form.ts'
import { checkUrl } from '../../policy/urls.ts'
import { syncPath } from '../../state/state-file.ts'
import { type Expected, type PreflightCheck, readList, runChecks } from './checks.ts'
import { type PublishedDocuments, fetchPublished } from './documents.ts'
import { toNetworkEntry } from './network-entry.ts'
import { type CurrentKey, findCurrentKey } from './succession.ts'

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
export function readOrigin(name: string, text: string, allowHttp: boolean): URL {
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
export async function checkAuthority(published: PublishedDocuments, expected: Expected): Promise<AuthorityCheck> {
  const { network, authorityKey, rootKey, now } = expected
  const current = await findCurrentKey(published, { network, authorityKey, rootKey, now })
  const checks = await runChecks(published, { network, authorityKey: current.key, rootKey, now })
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
