import { inclusionProof, toBase64 } from '@chancery/protocol'
import { writeDecisionFile } from '@chancery/sdk'
import type { DecisionFile } from '@chancery/sdk'
import { openLog } from './check-log.ts'
import { logNodes, readPolicyTexts } from './gather.ts'
import type { ProofParts } from './gather.ts'

/** Returns the decision file: everything that an auditor needs to verify the decision without a call. */
export async function decisionFileText(parts: ProofParts, sequence: number): Promise<string> {
  const { keys, lines, policies, attestation, anchor } = parts
  const found = 'value' in anchor ? (anchor.value ?? null) : null
  const applied = 'value' in policies ? policies.value : []
  return writeDecisionFile({
    genesis: keys.genesis,
    key_history: keys.history ?? null,
    entries: lines.filter((line) => !line.includes('"entry_kind":"rejection"')),
    policies: applied,
    policy_texts: await readPolicyTexts(applied),
    attestation: 'value' in attestation ? attestation.value : null,
    agreement: null,
    anchor: found,
    log: await logPart(parts, sequence, found?.store_sequence),
  })
}

/** Null while no checkpoint covers the entry. */
async function logPart(
  { checkpoint, keys }: ProofParts,
  sequence: number,
  anchored: number | undefined,
): Promise<DecisionFile['log']> {
  const opened = 'value' in checkpoint ? await openLog(checkpoint.value, keys) : undefined
  if (!('value' in checkpoint) || opened === undefined || sequence > opened.size) return null
  const { size } = opened
  const read = logNodes(size)
  const hashes = async (index: number): Promise<readonly string[]> =>
    (await inclusionProof(index, size, read)).map((hash) => toBase64(hash))
  return {
    checkpoint: checkpoint.value,
    leaf_index: sequence - 1,
    hashes: await hashes(sequence - 1),
    anchor_hashes: anchored === undefined || anchored > size ? null : await hashes(anchored - 1),
  }
}
