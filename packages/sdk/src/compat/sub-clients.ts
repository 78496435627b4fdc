import type { ExecutionEvidence, JsonObject, RetentionCheckpoint } from '@chancery/protocol'
import { readReceived, retentionCheckpointForm } from '@chancery/protocol'
import type { EvidenceEvent, EvidenceFilter, ExecutorKey, RecordedEvidence, RetentionResult } from '@chancery/contract'
import type { CallOptions } from '../http/call.ts'
import type { RecordOrText } from '../http/read-response.ts'
import type { Client } from '../client.ts'
import { VerificationError } from '../errors.ts'
import type { EvidenceSender, FlushReport } from '../governed/evidence-sender.ts'
import type { ChainHead, OutboxEntry } from '../governed/outbox.ts'

/** The last execution on a resource. */
export interface ResourceState {
  readonly resource_id: string
  readonly resource_action: string
  readonly resource_sequence: number
  readonly outcome: string
  readonly executed_at: string
}

/** The evidence store under the names of other libraries. */
export interface EvidenceStoreNames {
  submit(record: RecordOrText<JsonObject>, options?: CallOptions): Promise<RecordedEvidence>
  /** Stores a signed record in the outbox; requires a sender. */
  enqueue(record: ExecutionEvidence): Promise<OutboxEntry>
  flushPending(): Promise<FlushReport>
  pendingHead(resourceId: string): Promise<ChainHead | undefined>
  readonly search: Client['evidence']['search']
  /** Returns every event that the filter finds, page after page. */
  iterate(filter?: EvidenceFilter, options?: CallOptions): AsyncGenerator<EvidenceEvent, void, undefined>
  readonly status: Client['evidence']['status']
  readonly verify: Client['evidence']['verify']
  readonly resourceHistory: Client['evidence']['resources']
  readonly vendorHistory: Client['evidence']['vendors']
  readonly resourceHead: Client['evidence']['resourceHeads']
  /** Returns the last execution of every resource. */
  resourceStates(options?: CallOptions): Promise<ReadonlyMap<string, ResourceState>>
  exportText(sinceSequence?: number, limit?: number, options?: CallOptions): Promise<string>
  readonly export: Client['evidence']['lines']
  readonly exportAll: Client['evidence']['export']
  listExecutorKeys(options?: CallOptions): Promise<readonly ExecutorKey[]>
  readonly registerExecutorKey: Client['evidence']['registerKey']
  readonly retireExecutorKey: Client['evidence']['retireKey']
  applyRetention(
    olderThanDays: number,
    options?: CallOptions,
    limit?: { readonly through_sequence: number },
  ): Promise<RetentionResult>
  latestCheckpoint(options?: CallOptions): Promise<RetentionCheckpoint | undefined>
}

const MAX_PAGE = 1000

export function evidenceStoreNames({ evidence }: Client, sender: EvidenceSender | undefined): EvidenceStoreNames {
  const requireSender = (): EvidenceSender => {
    if (sender === undefined) throw new TypeError('The outbox requires withExistingNames(client, sender).')
    return sender
  }
  async function* iterate(filter: EvidenceFilter = {}, options?: CallOptions): AsyncGenerator<EvidenceEvent> {
    for (let after: number | null = filter.after_sequence ?? 0; after !== null;) {
      const page: Awaited<ReturnType<typeof evidence.search>> = await evidence.search(
        { limit: MAX_PAGE, ...filter, after_sequence: after },
        options,
      )
      yield* page.entries
      const next = page.next_after_sequence
      // A position that does not move would cause an endless loop.
      if (next !== null && next <= after)
        throw new VerificationError('page_order', 'response', 'the next page does not follow this one')
      after = next
    }
  }
  return {
    submit: (record, options) => evidence.execution({ evidence: record }, options),
    enqueue: (record) => requireSender().enqueue(record),
    flushPending: () => requireSender().flush(),
    pendingHead: (resourceId) => requireSender().pendingHead(resourceId),
    search: evidence.search,
    iterate,
    status: evidence.status,
    verify: evidence.verify,
    resourceHistory: evidence.resources,
    vendorHistory: evidence.vendors,
    resourceHead: evidence.resourceHeads,
    resourceStates: async (options) => {
      const states = new Map<string, ResourceState>()
      for await (const { payload } of iterate({ entry_kind: 'execution' }, options)) storeState(states, payload)
      return states
    },
    exportText: async (since = 0, limit = MAX_PAGE, options) =>
      (await evidence.lines(since, limit, options)).map((line) => `${line}\n`).join(''),
    export: evidence.lines,
    exportAll: evidence.export,
    listExecutorKeys: async (options) => (await evidence.executorKeys(options)).executor_keys,
    registerExecutorKey: evidence.registerKey,
    retireExecutorKey: evidence.retireKey,
    applyRetention: (older_than_days, options, limit) => evidence.retention({ older_than_days, ...limit }, options),
    latestCheckpoint: async (options) => {
      let last: JsonObject | undefined
      for await (const { payload } of iterate({ entry_kind: 'retention_checkpoint' }, options)) last = payload
      return last === undefined ? undefined : readReceived(retentionCheckpointForm, last).record
    },
  }
}

function storeState(states: Map<string, ResourceState>, payload: JsonObject): void {
  const record = payload as unknown as ExecutionEvidence
  const { resource_id, resource_action, resource_sequence, outcome, executed_at } = record
  if (resource_id === undefined || resource_action === undefined || resource_sequence === undefined) return
  if ((states.get(resource_id)?.resource_sequence ?? 0) < resource_sequence)
    states.set(resource_id, { resource_id, resource_action, resource_sequence, outcome, executed_at })
}
