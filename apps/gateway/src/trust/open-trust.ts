import type { Clock, Ids, Log } from '@chancery/service-kit'
import { operatorEvent } from '../audit/request-audit.ts'
import { ConfigurationError } from '../policy/load-files.ts'
import { Problems } from '../policy/form.ts'
import { type Policy, issuersOf } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import { DurableState } from '../state/durable-state.ts'
import { continueFollowing, storedKeys } from './followed-keys.ts'
import { type LoadedLists, type StoredLists, loadLists } from './load-lists.ts'
import { ListWorker } from './list-worker.ts'
import { type Followers, TrustState } from './trust-state.ts'

export interface OpenedTrust {
  readonly trust: TrustState
  readonly listWorker: ListWorker
  readonly state: DurableState | undefined
}

export interface TrustTools {
  /** Set in a supervisor. */
  readonly followers?: Followers | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

/**
 * Opens the state, restores the lists and stores newer lists of the policy (protocol/gateway 9.4), before the listener
 * opens.
 */
export async function openTrust(settings: GatewaySettings, policy: Policy, tools: TrustTools): Promise<OpenedTrust> {
  const listWorker = new ListWorker()
  const opened = await openState(settings, tools)
  const state = opened?.state
  try {
    const checkpoints = opened?.checkpoints ?? []
    const followed = await continueFollowing(policy, storedKeys(checkpoints), (network, reason) =>
      tools.log.warn('the stored keys of a network do not continue those of the policy', { network, reason }),
    )
    const loaded = await loadListsOrThrow(followed, fromCheckpoints(checkpoints), listWorker, tools.clock)
    return { trust: await TrustState.open(followed, loaded, { state, ...tools }), listWorker, state }
  } catch (error) {
    await listWorker.close()
    await state?.close()
    throw error
  }
}

/** Without a collector nothing acknowledges events, so they are a ring instead of an outbox (protocol/gateway 16.5). */
async function openState(
  { stateFile, stateMaxBytes, auditUrl }: GatewaySettings,
  tools: TrustTools,
): Promise<Awaited<ReturnType<typeof DurableState.open>> | undefined> {
  if (stateFile === undefined) return undefined
  const ring = auditUrl === undefined ? () => operatorEvent('audit_pruned', {}, tools) : undefined
  const opened = await DurableState.open({ file: stateFile, maxBytes: stateMaxBytes, log: tools.log, ring })
  const { released } = opened.state
  if (released > 0) tools.log.warn('GATEWAY_AUDIT_URL is not set: stored events will not be delivered', { released })
  return opened
}

export async function loadListsOrThrow(
  policy: Policy,
  stored: StoredLists,
  listWorker: ListWorker,
  clock: Clock,
): Promise<LoadedLists> {
  const problems = new Problems()
  const loaded = await loadLists(issuersOf(policy), stored, { listWorker, now: clock.now(), problems })
  if (problems.list.length === 0) return loaded
  throw new ConfigurationError(problems.list.map((problem) => ({ setting: 'GATEWAY_POLICY_FILE', ...problem })))
}

export function fromCheckpoints(checkpoints: readonly StoredCheckpoint[]): StoredLists {
  return async ({ network, issuer }) =>
    checkpoints.find((checkpoint) => checkpoint.network === network && checkpoint.issuer === issuer)
}
