import type { JsonObject } from '@chancery/protocol'
import type { PolicySimulation } from '@chancery/sdk/authority'
import { useEffect, useState } from 'preact/hooks'
import { CallError, at, send } from '../../client.ts'
import { makePayload } from '../../signing/payload.ts'
import type { Effect } from '../../signing/act.ts'

/** Number of newest decisions to replay. The authority takes at most this many. */
export const REPLAYED = 1000
export const SAMPLE = 20

/** The result for one text: of another text it does not count. */
export interface Replay {
  readonly text: string
  readonly at: string
  readonly result?: PolicySimulation
  /** Why there is no result: the evidence store is off, or the request was refused. */
  readonly problem?: CallError
}

/** Replays the newest decisions under the set with this policy in force. Nothing is signed as a record, or stored. */
export async function replay(
  intent: JsonObject,
  sample: { readonly sample_limit: number; readonly sample_cursor?: string } = { sample_limit: SAMPLE },
): Promise<PolicySimulation> {
  const body = { intent, decisions: { newest: REPLAYED }, ...sample }
  const target = at`/admin/boundary-policies/simulate`
  return (await send(makePayload({ method: 'POST', target, body }))) as unknown as PolicySimulation
}

/** Replays while `intent` is given and its text was not replayed yet. */
export function useReplay(
  text: string,
  intent: JsonObject | undefined,
): { readonly replay: Replay | undefined; readonly again: () => void } {
  const [done, setDone] = useState<Replay>()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (intent === undefined || (done?.text === text && turn === 0)) return undefined
    let isCurrent = true
    const finish = (rest: Partial<Replay>): void => {
      if (isCurrent) setDone({ text, at: new Date().toISOString(), ...rest })
      setTurn(0)
    }
    replay(intent).then(
      (result) => finish({ result }),
      (problem: unknown) => {
        if (problem instanceof CallError) finish({ problem })
      },
    )
    return () => {
      isCurrent = false
    }
  }, [text, intent === undefined, turn > 0])
  return { replay: done?.text === text ? done : undefined, again: () => setTurn(1) }
}

/** What activating would change, as lines of the drawer. */
export function replayEffects({ result }: Replay): readonly Effect[] {
  if (result === undefined)
    return [{ shape: 'triangle', tone: 'watch', text: 'The effect on past requests is not known' }]
  const { newly_allowed, newly_denied, unchanged, total, candidate_set_healthy } = result
  const count = (number: number): string => number.toLocaleString('en')
  const requests = (number: number): string => `${count(number)} past request${number === 1 ? '' : 's'}`
  return [
    ...(newly_allowed === 0
      ? []
      : [{ shape: 'circle', tone: 'good', text: `${requests(newly_allowed)} would be newly allowed` } as const]),
    ...(newly_denied === 0
      ? []
      : [{ shape: 'square', tone: 'bad', text: `${requests(newly_denied)} would be newly denied` } as const]),
    { shape: 'dash', tone: 'ended', text: `${count(unchanged)} of ${requests(total)} would be decided as before` },
    candidate_set_healthy
      ? { shape: 'tick', tone: 'good', text: 'The set in force is healthy with it' }
      : { shape: 'square', tone: 'bad', text: 'The set in force would be unhealthy: every request would be denied' },
  ]
}
