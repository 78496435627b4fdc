import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkListAdvance, isJsonObject, markOfList, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, JsonObject, RevocationList } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { TOOLS, ToolProblem } from '../maintenance/tool.ts'
import type { ToolResult } from '../maintenance/tool.ts'
import { Problems } from '../policy/form.ts'
import { checkUrl } from '../policy/urls.ts'
import { syncPath } from '../state/state-file.ts'
import { readList, runChecks } from './checks.ts'
import type { PreflightCheck } from './checks.ts'
import { fetchPublished } from './documents.ts'

export interface PreflightArguments {
  readonly origin: string
  readonly network: string
  readonly authorityKey: string
  readonly rootKey: string | undefined
  readonly allowHttp: boolean
  readonly reportFile: string | undefined
  readonly fragmentFile: string | undefined
  /** The fragment of an earlier run: nothing may have gone back since. */
  readonly previousFile: string | undefined
}

const COVERAGE =
  'A wire preflight: what the authority publishes is consistent with what was given. It is not conformance.'
const REMAINING = [
  'scoped treaty exchange',
  'acceptance before revocation',
  'rejection after propagation',
  'continuity over restart and key rotation',
]

/** `gateway preflight`: read-only, without any signing key (protocol/gateway 19). */
export async function preflight(args: PreflightArguments): Promise<ToolResult> {
  const problems = new Problems()
  const origin = checkUrl(args.origin, '--origin', problems, { allowHttp: args.allowHttp, origin: true })
  if (origin === undefined) throw new ToolProblem(`--origin ${problems.list[0]?.message ?? ''}`)
  const published = await fetchPublished(origin)
  // After the answers: a list may have been signed for this very request.
  const now = systemClock.now()
  const list = readList(published.crl)
  const checks = [
    ...(await runChecks(published, {
      network: args.network,
      authorityKey: args.authorityKey,
      rootKey: args.rootKey,
      now,
    })),
    ...previousChecks(list, args, now),
  ]
  const passed = checks.every((each) => each.passed)
  const report = {
    network: args.network,
    checked_at: writeInstant(now),
    passed,
    checks,
    coverage: args.rootKey === undefined ? `${COVERAGE} The root key was taken from the authority itself.` : COVERAGE,
    remaining_proofs: REMAINING,
  }
  if (args.reportFile !== undefined) writeNew(args.reportFile, report)
  if (passed && list !== undefined && args.fragmentFile !== undefined) {
    writeNew(args.fragmentFile, fragmentOf(list, origin, args))
  }
  const lines = checks.map(({ check, passed: holds }) => `${holds ? 'ok    ' : 'FAILED'} ${check}`)
  return { data: report, text: lines.join('\n'), exitCode: passed ? 0 : 1 }
}

function previousChecks(
  list: RevocationList | undefined,
  { previousFile, network }: PreflightArguments,
  now: Instant,
): PreflightCheck[] {
  if (previousFile === undefined) return []
  const value = readJson(readFileSync(previousFile, 'utf8'))
  const entry = isJsonObject(value) ? value[network] : undefined
  const crl = isJsonObject(entry) ? entry['crl'] : undefined
  const held = readList(isJsonObject(crl) ? crl : undefined)
  const passed =
    held !== undefined && list !== undefined && checkListAdvance(markOfList(held), markOfList(list), now).ok
  return [{ check: 'crl_advance', passed }]
}

function fragmentOf(
  list: RevocationList,
  origin: URL,
  { network, authorityKey, allowHttp }: PreflightArguments,
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
    },
  }
}

/** Whole or not at all, and never over another file. */
function writeNew(file: string, value: JsonObject): void {
  const draft = `${file}.${TOOLS.ids.hex(12)}`
  try {
    writeFileSync(draft, `${writeJson(value)}\n`, { flag: 'wx', mode: 0o600 })
    syncPath(draft)
    linkSync(draft, file)
    syncPath(dirname(file))
  } catch (error) {
    throw new ToolProblem(`${file} exists already or cannot be written`, { cause: error })
  } finally {
    rmSync(draft, { force: true })
  }
}
