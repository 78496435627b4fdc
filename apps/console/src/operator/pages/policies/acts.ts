import type { JsonObject } from '@chancery/protocol'
import type { ActiveBoundaryPolicies } from '@chancery/sdk/authority'
import { at, read } from '../../client.ts'
import type { Act, ActRequest } from '../../signing/act.ts'
import type { Toast } from '../../parts/toasts.ts'
import { undo } from '../../signing/undo.ts'
import { policyHref } from './links.ts'
import { type Replay, replayEffects } from './replay.ts'

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
