import { writeSortable } from '@chancery/protocol'
import { Batcher, endOfLoopTurn } from '@chancery/service-kit'
import type { AuditEvent } from '../../audit/record.ts'
import { holdBasisVersion } from '../../database/locks/decision-basis.ts'
import { type StoredResponse, storeResponse } from '../../requests/idempotency.ts'
import { type DecisionClaim, claimDecision } from './claim-decision.ts'
import type { EvidenceState } from './state.ts'

interface UnchainedDecision extends DecisionClaim {
  readonly events: readonly AuditEvent[]
}

/** Decisions while the store is disabled: audit events and idempotency records only. Queued ones share a transaction. */
export class UnchainedDecisions {
  readonly #parts: EvidenceState
  readonly #decisions: Batcher<UnchainedDecision, StoredResponse>

  constructor(parts: EvidenceState) {
    this.#parts = parts
    const limits = { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn }
    this.#decisions = new Batcher((items) => storeBatch(parts, items), limits)
  }

  async record(made: UnchainedDecision): Promise<StoredResponse> {
    const { decision, attempt, callerNonce, events, answer } = made
    if (decision.authorized || attempt !== undefined || callerNonce !== undefined) return this.#decisions.add(made)
    await this.#parts.audit.recordAlone(events)
    return answer
  }

  close(): Promise<void> {
    return this.#decisions.close()
  }
}

async function storeBatch(
  parts: EvidenceState,
  items: readonly UnchainedDecision[],
): Promise<(StoredResponse | Error)[]> {
  const { answers, basisVersion } = await parts.database.write(
    async (tx) => {
      const held = await holdBasisVersion(tx)
      const now = writeSortable(parts.clock.now())
      const events: AuditEvent[] = []
      const outcomes: (StoredResponse | Error)[] = []
      for (const item of items) {
        const claimed = await claimDecision(tx, item, { basisVersion: held, now })
        if (claimed === undefined) {
          if (item.attempt !== undefined) await storeResponse(tx, item.attempt, item.answer)
          events.push(...item.events)
        }
        outcomes.push(claimed ?? item.answer)
      }
      await parts.audit.recordAll(tx, events)
      return { answers: outcomes, basisVersion: held }
    },
    { cachedPlans: true, pipelined: true, room: 'growth' },
  )
  parts.lastBasis.version = basisVersion
  return answers
}
