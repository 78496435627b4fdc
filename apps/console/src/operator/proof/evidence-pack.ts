import { BOUNDARY_POLICY_FORM, isJsonObject, readEventLine, readOrUndefined, readReceived } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { createPack, writePack } from '@chancery/sdk/evidence'
import { namedTexts, namedTreaty } from '@chancery/sdk/internal'
import { type Part, type ProofParts, readPolicyTexts, readTile, readTreaty } from './gather.ts'

/** Returns the evidence pack: everything that an auditor needs to verify the decision without a call. */
export async function evidencePackText(parts: ProofParts): Promise<string> {
  const { keys, policies, attestation, anchor, checkpoint, executors } = parts
  const entries = parts.lines.filter((line) => readEventLine(line)?.entry.entry_kind !== 'rejection')
  const applied = valueOf(policies) ?? []
  const treaty = namedTreaty(contextIn(entries[0] ?? ''))
  const pack = await createPack({
    genesis: keys.genesis,
    key_history: keys.history ?? null,
    entries,
    policies: applied,
    policy_texts: await readPolicyTexts(textsOf(applied)),
    attestation: valueOf(attestation) ?? null,
    // The two parties store the agreement, and the authority does not.
    agreement: null,
    treaty: treaty === undefined ? null : await readTreaty(treaty),
    executorKeys: [...(valueOf(executors)?.values() ?? [])],
    anchor: valueOf(anchor) ?? null,
    checkpoint: valueOf(checkpoint),
    logIdentity: parts.logIdentity,
    readTile,
  })
  return writePack(pack)
}

/** Of a malformed policy no texts are read; the checks of the pack report it. */
function textsOf(policies: readonly JsonObject[]): readonly string[] {
  const read = () => policies.map((policy) => readReceived(BOUNDARY_POLICY_FORM, policy).record)
  return namedTexts(readOrUndefined(read) ?? [])
}

function valueOf<Value>(part: Part<Value>): Value | undefined {
  return 'value' in part ? part.value : undefined
}

function contextIn(line: string): Parameters<typeof namedTreaty>[0] {
  const payload = readEventLine(line)?.payload ?? null
  return isJsonObject(payload) ? (payload['context'] ?? null) : null
}
