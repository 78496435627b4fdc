import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import type { Act } from '../../signing/act.ts'
import { activateTarget, activatedToast, checkVersions, withoutReplay } from '../policies/acts.ts'
import { policyHref } from '../policies/links.ts'
import { type Replay, replayEffects } from '../policies/replay.ts'

export interface Publication {
  readonly policyId: string
  readonly intent: JsonObject
  readonly version: number
  /** The version in force now. */
  readonly before: number | undefined
}

/** Stores the draft as the next version. It is not in force after that. */
export function publishAct({ policyId, intent, version, before }: Publication): Act {
  return {
    name: 'publish',
    title: `Publish ${policyId} ${version}`,
    sentence: 'The authority signs and stores this version. Decisions do not use it until it is activated.',
    button: 'Sign and publish',
    fields: [],
    isPrivileged: true,
    requests: () => [publishRequest(intent)],
    effects: () => [
      { shape: 'tick', tone: 'good', text: `Version ${version} is stored. A stored version cannot be changed.` },
      before === undefined
        ? { shape: 'dash', tone: 'ended', text: 'No version is in force' }
        : { shape: 'dash', tone: 'ended', text: `Version ${before} stays in force` },
    ],
    done: ([answer]) => ({
      toast: {
        text: `${policyId} ${plain(answer?.['version'])} is published.`,
        link: { href: policyHref(policyId), text: 'Versions' },
      },
    }),
    unknown: checkVersions(policyId, `Version ${version} may be published.`),
  }
}

/** Publishes the draft and puts it in force: two requests, one after the other. */
export function publishAndActivateAct(publication: Publication, replayed: Replay): Act {
  const { policyId, intent, version, before } = publication
  return {
    name: 'publish-and-activate',
    title: `Publish and activate ${policyId} ${version}`,
    sentence: `Decisions use this version from the next request on.${before === undefined ? '' : ` Version ${before} stays stored: activate it to go back.`}`,
    button: 'Sign both',
    fields: [],
    isPrivileged: true,
    ...withoutReplay(replayed),
    requests: () => [publishRequest(intent), { target: activateTarget(policyId), body: { version } }],
    checkAnswers: ([published]) => {
      // Another operator published first: the second request would put that version in force.
      if (published?.['version'] !== version)
        throw new Error(`It was published as version ${plain(published?.['version'])}. Activate that version.`)
    },
    effects: () => [
      ...replayEffects(replayed),
      {
        shape: 'tick',
        tone: 'good',
        text: 'Two requests are signed, one after the other',
        more: `If the second fails, version ${version} is published but not in force.`,
      },
    ],
    done: ([, answer]) => ({ toast: activatedToast(publication, answer) }),
    unknown: checkVersions(policyId, `Version ${version} may be published, and may be in force.`),
  }
}

const publishRequest = (intent: JsonObject): ReturnType<Act['requests']>[number] => ({
  target: at`/admin/boundary-policies`,
  body: intent,
  isRepeatable: true,
})
