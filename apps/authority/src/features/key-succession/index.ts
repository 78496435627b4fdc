import type { Feature } from '../../core.ts'
import type { Succession } from '../crl/index.ts'
import { type Announcement, announceKey } from './announce.ts'
export { firstListKeys } from './announce.ts'
export { listLacking } from './queries.ts'
import type { KeySuccessionParts } from './parts.ts'
import { type SuccessionProgress, describeSuccession, readCachedProgress, readProgress } from './progress.ts'
import { retireKey } from './retire.ts'
import { type InstanceState, SwitchFollower, listInstances } from './follow-switch.job.ts'
import { switchLive } from './switch-live.ts'
import { switchKey } from './switch.ts'

export { nextStep } from './progress.ts'
export type { SuccessionProgress } from './progress.ts'
export type { InstanceState } from './follow-switch.job.ts'

export interface KeySuccession extends Feature {
  /** Called before this instance serves. */
  enter(): Promise<void>
  announceKey(): Promise<Announcement>
  switchKey(options: { readonly isForced: boolean }): Promise<Succession | undefined>
  switchLive(options: { readonly isForced: boolean }): Promise<Succession | undefined>
  listInstances(): Promise<readonly InstanceState[]>
  retireKey(options: { readonly isForced: boolean }): Promise<string | undefined>
  describeSuccession(options?: { readonly isFull?: boolean }): Promise<SuccessionProgress>
  readProgress(): Promise<SuccessionProgress>
  readCachedProgress(): Promise<SuccessionProgress | undefined>
}

export function openKeySuccession(parts: KeySuccessionParts): KeySuccession {
  const follower = new SwitchFollower(parts)
  return {
    routes: [],
    // In each worker: the metrics of a large network show the last count of the process that answers.
    jobs: [
      { name: 'succession-progress', everySeconds: 30, run: async () => void (await readProgress(parts)) },
      { name: 'key-owner-check', everySeconds: 2, run: (signal) => follower.run(signal) },
    ],
    enter: () => follower.enter(),
    announceKey: () => announceKey(parts),
    switchKey: (options) => switchKey(parts, options),
    switchLive: (options) => switchLive(parts, options),
    listInstances: () => listInstances(parts.database.read, parts),
    retireKey: (options) => retireKey(parts, options),
    describeSuccession: (options) => describeSuccession(parts, options),
    readProgress: () => readProgress(parts),
    readCachedProgress: () => readCachedProgress(parts),
    close: () => Promise.resolve(),
  }
}
