import { readFileSync } from 'node:fs'
import { type JsonValue, isJsonObject, readJson, toUtf8 } from '@chancery/protocol'
import { type Policy, issuersOf } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { KEYS_ROW, type StoredCheckpoint, readCheckpoints } from '../state/checkpoints.ts'
import { readState } from '../state/state-file.ts'
import { verifyState } from '../state/verify-state.ts'
import { checkList } from '../trust/check-list.ts'
import { continueFollowing, storedKeys } from '../trust/followed-keys.ts'
import { issuerKey } from '../trust/snapshot.ts'
import { TOOLS, type ToolResult, policyOf } from './state-command.ts'

export interface VerifyArguments {
  readonly file: string
  /** Saved output of `state floors`. */
  readonly floorsFile: string | undefined
}

/** `state verify`: checks integrity, the audit chain, authenticity under the current anchors, and the saved floors. */
export async function verify(settings: GatewaySettings, { file, floorsFile }: VerifyArguments): Promise<ToolResult> {
  const policy = policyOf(settings)
  const { checkpoints, values } = readState(file, settings, (db) => ({
    values: verifyState(db),
    checkpoints: readCheckpoints(db),
  }))
  const leftOut: string[] = []
  const followed = await continueFollowing(policy, storedKeys(checkpoints), (network, reason) =>
    leftOut.push(`${network}: the followed keys do not continue those of the policy (${reason})`),
  )
  const lists = checkpoints.filter(({ issuer }) => issuer !== KEYS_ROW)
  const problems = [
    ...leftOut,
    ...(await unauthentic(lists, followed)),
    ...(floorsFile === undefined ? [] : belowFloors(checkpoints, readJson(readFileSync(floorsFile, 'utf8')))),
  ]
  const known = new Set(issuersOf(followed).map(({ network, issuer }) => issuerKey(network, issuer)))
  const unverified = lists.filter(({ network, issuer }) => !known.has(issuerKey(network, issuer)))
  const data = {
    ok: problems.length === 0,
    checkpoints: lists.length,
    not_verified: unverified.map(({ network, issuer }) => ({ network, issuer })),
    floors: floorsFile === undefined ? 'not_checked' : 'checked',
    audit_events: values.head_sequence,
    problems,
  }
  const lines = [
    `The state is valid: ${lists.length - unverified.length} lists.`,
    ...unverified.map(
      ({ network, issuer }) => `Not verified: the list of ${issuer} of ${network}, which is not in the policy.`,
    ),
    ...(floorsFile === undefined ? ['Not compared with saved floors: an older copy of the state is valid, too.'] : []),
  ]
  const text = (problems.length === 0 ? lines : problems).join('\n')
  return { data, text, exitCode: problems.length === 0 ? 0 : 1 }
}

async function unauthentic(checkpoints: readonly StoredCheckpoint[], policy: Policy): Promise<string[]> {
  const problems: string[] = []
  for (const { network, issuer, body } of checkpoints) {
    const found = issuersOf(policy).find((each) => each.network === network && each.issuer === issuer)
    // A network outside the policy has no anchors. Its checkpoint stays stored.
    if (found === undefined) continue
    const { anchors, floor, freshness } = found
    const task = { bytes: toUtf8(body), issuer, anchors, floor, freshness, now: TOOLS.clock.now() }
    const { outcome } = await checkList({ ...task, demand: 'signed' })
    if (outcome !== 'installed') problems.push(`${network}: the list of ${issuer} does not verify under its anchors`)
  }
  return problems
}

function belowFloors(checkpoints: readonly StoredCheckpoint[], saved: JsonValue): string[] {
  const floors = isJsonObject(saved) ? saved['floors'] : undefined
  if (!Array.isArray(floors)) return ['the saved floors cannot be read']
  return (floors as readonly JsonValue[]).flatMap((floor) => {
    const { network, issuer, sequence } = isJsonObject(floor) ? floor : {}
    if (typeof network !== 'string' || typeof issuer !== 'string') return ['the saved floors cannot be read']
    const stored = checkpoints.find((each) => each.network === network && each.issuer === issuer)
    const isKept = stored !== undefined && typeof sequence === 'number' && stored.sequence >= sequence
    return isKept ? [] : [`${network}: the list of ${issuer} is below the saved floor`]
  })
}
