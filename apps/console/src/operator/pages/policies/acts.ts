import type { JsonObject } from '@chancery/protocol'
import type { ActiveBoundaryPolicies, PolicySimulation } from '@chancery/sdk'
import { CallError, at, read, send } from '../../client.ts'
import { type Act, type ActRequest, type Effect, undo } from '../../signing/act.ts'
import type { Toast } from '../../parts/toasts.ts'
import { useEffect, useState } from 'preact/hooks'
import { makePayload } from '../../signing/payload.ts'

export const policyHref = (id: string): string => `/operator/policies/${encodeURIComponent(id)}`
export const draftHref = (id: string): string => `${policyHref(id)}/draft`

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

export const activateTarget = (policyId: string): ActRequest['target'] =>
  at`/admin/boundary-policies/${policyId}/activate`
const deactivateTarget = (policyId: string): ActRequest['target'] => at`/admin/boundary-policies/${policyId}/deactivate`

/** Where an uncertain change of a policy is checked. */
export const checkVersions = (policyId: string, text: string): NonNullable<Act['unknown']> => ({
  text,
  href: policyHref(policyId),
  link: 'Check the versions',
})

interface PolicyChange {
  readonly policyId: string
  readonly version: number
  /** The version that is in force now; undefined when none is. */
  readonly before: number | undefined
}

/** Makes one stored version the version in force. */
export function activateAct(change: PolicyChange, replayed: Replay): Act {
  const { policyId, version, before } = change
  return {
    name: `activate-${version}`,
    title: `Activate ${policyId} ${version}`,
    sentence:
      before === undefined
        ? 'Decisions use this version from the next request on.'
        : `Decisions use this version from the next request on. Version ${before} stays stored: activate it to go back.`,
    button: 'Sign and activate',
    fields: [],
    isPrivileged: true,
    ...withoutReplay(replayed),
    requests: () => [{ target: activateTarget(policyId), body: { version } }],
    effects: () => replayEffects(replayed),
    done: ([answer]) => ({ toast: activatedToast(change, answer) }),
    unknown: checkVersions(policyId, `Version ${version} may be in force.`),
  }
}

/** Without a replay the operator types that. In an emergency the way back must not depend on the evidence store. */
export function withoutReplay({ problem }: Replay): Pick<Act, 'final'> {
  if (problem === undefined) return {}
  const warning =
    problem.code === 'evidence_store_disabled'
      ? 'The evidence store is off, so there are no decisions to replay. The effect is not known.'
      : `The replay failed: ${problem.message} The effect is not known.`
  return { final: { warning, typed: 'without replay' } }
}

export function activatedToast({ policyId, version, before }: PolicyChange, answer: JsonObject | undefined): Toast {
  const previous = answer?.['previous_version']
  const back = typeof previous === 'number' ? previous : before
  const text = `${policyId} ${version} is in force.`
  if (back === version) return { text: `${policyId} ${version} was in force already.` }
  if (back === undefined)
    return {
      text,
      undo: { text: 'Deactivate it', run: () => void goBack(policyId, version, 'none') },
    }
  return {
    text,
    more: `Version ${back} is no longer in force.`,
    undo: { text: `Back to ${back}`, run: () => void goBack(policyId, version, back) },
  }
}

/** Removes the version in force. */
export function deactivateAct(change: PolicyChange, set: ActiveBoundaryPolicies | undefined): Act {
  const { policyId, version } = change
  const others = set?.active.filter((each) => each.policy_id !== policyId).length
  return {
    name: `deactivate-${version}`,
    title: `Deactivate ${policyId} ${version}`,
    sentence: 'The policy no longer applies from the next request on. Its versions stay stored.',
    button: 'Sign and deactivate',
    fields: [],
    isPrivileged: true,
    requests: () => [{ target: deactivateTarget(policyId), body: { version } }],
    effects: () => [
      { shape: 'cross', tone: 'bad', text: `The gates of ${policyId} no longer deny any request` },
      ...(set === undefined
        ? []
        : [
            others === 0 && set.enforcement === 'required'
              ? ({
                  shape: 'square',
                  tone: 'bad',
                  text: 'No policy is left in force: every request will be denied',
                  more: 'Enforcement is required, and a set without policies denies.',
                } as const)
              : ({
                  shape: 'dash',
                  tone: 'ended',
                  text: `Other policies in force: ${others ?? 0}`,
                  more: `Enforcement is ${set.enforcement}.`,
                } as const),
          ]),
    ],
    done: () => ({
      toast: {
        text: `${policyId} ${version} is no longer in force.`,
        undo: { text: `Put ${version} in force again`, run: () => void goBack(policyId, undefined, version) },
      },
    }),
    unknown: checkVersions(policyId, `Version ${version} may no longer be in force.`),
  }
}

/** Undoes a change, only while the policy is as the change left it. Signs one request. */
function goBack(policyId: string, left: number | undefined, to: number | 'none'): Promise<void> {
  return undo(
    async (change) => {
      const { active } = await read<ActiveBoundaryPolicies>(at`/admin/boundary-policies/active`)
      const now = active.find((each) => each.policy_id === policyId)?.version
      if (now !== left) return `${policyId} was changed again. Nothing was undone.`
      const body = { version: to === 'none' ? (left ?? 0) : to }
      await change(to === 'none' ? deactivateTarget(policyId) : activateTarget(policyId), body)
      return to === 'none' ? `${policyId} is no longer in force.` : `${policyId} ${to} is in force again.`
    },
    { href: policyHref(policyId), text: 'Check the versions' },
  )
}
