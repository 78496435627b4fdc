import type { Clock, Ids, Log } from '@chancery/service-kit'
import { ConfigurationRefused } from '../policy/configuration-refused.ts'
import { Problems } from '../policy/form.ts'
import type { Policy } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings.ts'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import { DurableState } from '../state/durable-state.ts'
import { establishLists } from './establish.ts'
import type { Established, KnownLists } from './establish.ts'
import { ListDesk } from './list-desk.ts'
import { TrustBook } from './trust-book.ts'

export interface OpenedTrust {
  readonly book: TrustBook
  readonly desk: ListDesk
  readonly state: DurableState | undefined
}

export interface TrustTools {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

/** Opens the state, restores the lists and keeps what is newer in the policy (protocol/gateway 9.4); before any listener. */
export async function openTrust(settings: GatewaySettings, policy: Policy, tools: TrustTools): Promise<OpenedTrust> {
  const desk = new ListDesk()
  const { stateFile, stateMaxBytes } = settings
  const opened = stateFile === undefined ? undefined : await DurableState.open(stateFile, stateMaxBytes, tools.log)
  const state = opened?.state
  try {
    const established = await establishOrRefuse(policy, fromStore(opened?.checkpoints ?? []), desk, tools.clock)
    return { book: await TrustBook.open(policy, established, { state, ...tools }), desk, state }
  } catch (error) {
    await desk.close()
    await state?.close()
    throw error
  }
}

export async function establishOrRefuse(
  policy: Policy,
  known: KnownLists,
  desk: ListDesk,
  clock: Clock,
): Promise<Established> {
  const problems = new Problems()
  const established = await establishLists(policy, known, { desk, now: clock.now(), problems })
  if (problems.list.length === 0) return established
  throw new ConfigurationRefused(problems.list.map((problem) => ({ setting: 'GATEWAY_POLICY_FILE', ...problem })))
}

export function fromStore(checkpoints: readonly StoredCheckpoint[]): KnownLists {
  return async ({ network, issuer }) =>
    checkpoints.find((checkpoint) => checkpoint.network === network && checkpoint.issuer === issuer)
}
