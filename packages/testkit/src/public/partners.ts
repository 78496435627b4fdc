import type { RecognitionTreaty } from '@chancery/protocol'
import type { ManualClock } from '../clock.ts'
import { type RunningTestNetwork, startTestNetwork } from './network.ts'

export interface PartnersOptions<Name extends string> {
  readonly clock?: ManualClock
  /** Each network recognises each other with all capabilities when not given. */
  readonly treaties?: readonly { readonly from: Name; readonly to: Name; readonly capabilities?: readonly string[] }[]
}

export type TestPartners<Name extends string> = { readonly [Each in Name]: RunningTestNetwork } & AsyncDisposable & {
    readonly treaties: readonly RecognitionTreaty[]
    /** Pulls the feeds of revocations now: what one network revoked, the others know. */
    sync(): Promise<void>
  }

/** Two or more networks with different keys. `from` recognises members of `to`. */
export async function startTestPartners<const Names extends readonly [string, string, ...string[]]>(
  names: Names,
  options: PartnersOptions<Names[number]> = {},
): Promise<TestPartners<Names[number]>> {
  const { clock } = options
  const networks = new Map<string, RunningTestNetwork>()
  for (const name of names)
    networks.set(name, await startTestNetwork({ name, ...(clock === undefined ? {} : { clock }) }))
  const of = (name: string): RunningTestNetwork => {
    const found = networks.get(name)
    if (found === undefined) throw new Error(`there is no network ${name}`)
    return found
  }
  const pairs =
    options.treaties ?? names.flatMap((from) => names.filter((to) => to !== from).map((to) => ({ from, to })))
  const treaties: RecognitionTreaty[] = []
  for (const pair of pairs) {
    const capabilities = 'capabilities' in pair ? (pair.capabilities ?? ['*']) : ['*']
    treaties.push(
      await of(pair.from).operator.recognitionTreaties.issue({
        subject_sovereign_id: pair.to,
        subject_public_keys: [of(pair.to).genesis.network_authority.public_key],
        scope: { allowed_roles: ['role:client'], claims: { capabilities: [...capabilities] } },
      }),
    )
  }
  const sync = async (): Promise<void> => {
    for (const { from, to } of pairs)
      await of(from).operator.revocationFeeds.import({ feed: await of(to).operator.revocationFeeds.current() })
  }
  await sync()
  const stop = async (): Promise<void> => void (await Promise.all([...networks.values()].map((each) => each.stop())))
  return { ...Object.fromEntries(networks), treaties, sync, [Symbol.asyncDispose]: stop } as unknown as TestPartners<
    Names[number]
  >
}
