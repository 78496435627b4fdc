import type { GenesisBlock } from '@chancery/protocol'
import type { CheckedHistory } from './check-material.ts'
import type { Findings } from './findings.ts'
import { SMALL_BYTES } from './pull-context.ts'
import type { ReadFrom } from './read-document.ts'
import type { PullingParts } from './state.ts'
import { StepFailureError } from './step-failure.ts'

const NONE: CheckedHistory = { former_keys: [], isAuthentic: true, digest: null, text: null }

/**
 * Step 2: a history that the root did not sign, or that no longer lists a former key, is an alarm. The stored keys then
 * stay.
 */
export async function readHistoryStep(
  parts: PullingParts,
  findings: Findings,
  read: ReadFrom,
  genesis: GenesisBlock,
): Promise<void> {
  const { status, blocks } = await read({ path: '/key-history', maxBytes: SMALL_BYTES, mayLack: true })
  const offered = status === 404 ? NONE : await parts.checks.run('history', { blocks, genesis })
  const { former_keys: before, history_digest } = findings.facts
  const listed = new Set(offered.former_keys.map((key) => key.public_key))
  if (!offered.isAuthentic || !before.every((key) => listed.has(key.public_key))) {
    findings.alarms.push({
      kind: 'key_history_changed',
      material: 'key_history',
      sequence: null,
      held_digest: history_digest ?? null,
      offered_digest: offered.digest,
      offered_text: offered.text,
    })
    throw new StepFailureError('unauthentic')
  }
  if (JSON.stringify(offered.former_keys) !== JSON.stringify(before)) findings.changed.push('key_history')
  findings.facts = { ...findings.facts, former_keys: offered.former_keys, history_digest: offered.digest }
  findings.texts.set('key_history', offered.text)
}
