import type {
  BoundaryDecision,
  ContextRecord,
  EvidenceStoreEntry,
  ExecutionEvidence,
  JustificationProof,
} from '@chancery/protocol'
import type { DecisionGroup, EvidenceEvent } from '@chancery/sdk/authority'

export type { EvidenceEvent } from '@chancery/sdk'

/** A decision as its entry in the store has it. */
export interface DecisionRow {
  readonly entry: EvidenceStoreEntry
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly executions: number
}

/** An execution with its entry. */
export interface ExecutionRow {
  readonly entry: EvidenceStoreEntry
  readonly record: ExecutionEvidence
}

export interface DecisionStory extends DecisionRow {
  readonly justification: JustificationProof | undefined
  readonly done: readonly ExecutionRow[]
}

/** Returns undefined when the group has no decision entry: retention removed it. */
export function toGroup(group: Pick<DecisionGroup, 'entries' | 'executions'>): DecisionRow | undefined {
  const found = group.entries.find(({ entry }) => entry.entry_kind === 'decision')
  if (found === undefined) return undefined
  const { decision, context } = found.payload as unknown as Pick<DecisionRow, 'decision' | 'context'>
  return { entry: found.entry, decision, context, executions: group.executions }
}

export function toStory(entries: readonly EvidenceEvent[]): DecisionStory | undefined {
  const ofKind = (kind: string): readonly EvidenceEvent[] => entries.filter(({ entry }) => entry.entry_kind === kind)
  const done = ofKind('execution').map(({ entry, payload }) => ({
    entry,
    record: payload as unknown as ExecutionEvidence,
  }))
  const row = toGroup({ entries, executions: done.length })
  if (row === undefined) return undefined
  const [justification] = ofKind('justification')
  return { ...row, done, justification: justification?.payload as JustificationProof | undefined }
}
