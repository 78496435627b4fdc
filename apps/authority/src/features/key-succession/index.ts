import type { Feature } from '../../core.ts'
import type { Succession } from '../crl/index.ts'
import { announceKey } from './announce.ts'
import type { Announcement } from './announce.ts'
import type { KeySuccessionParts } from './parts.ts'
import { describeSuccession, readCachedProgress, readProgress } from './progress.ts'
import type { SuccessionProgress } from './progress.ts'
import { retireKey } from './retire.ts'
import { switchKey } from './switch.ts'

export { nextStep } from './progress.ts'
export type { SuccessionProgress } from './progress.ts'

export interface KeySuccession extends Feature {
  announceKey(): Promise<Announcement>
  switchKey(options: { readonly isForced: boolean }): Promise<Succession | undefined>
  retireKey(options: { readonly isForced: boolean }): Promise<string | undefined>
  describeSuccession(options?: { readonly isFull?: boolean }): Promise<SuccessionProgress>
  readProgress(): Promise<SuccessionProgress>
  readCachedProgress(): Promise<SuccessionProgress | undefined>
}

export function openKeySuccession(parts: KeySuccessionParts): KeySuccession {
  return {
    routes: [],
    // In each worker: the metrics of a large network show the last count of the process that answers.
    jobs: [{ name: 'succession-progress', everySeconds: 30, run: async () => void (await readProgress(parts)) }],
    announceKey: () => announceKey(parts),
    switchKey: (options) => switchKey(parts, options),
    retireKey: (options) => retireKey(parts, options),
    describeSuccession: (options) => describeSuccession(parts, options),
    readProgress: () => readProgress(parts),
    readCachedProgress: () => readCachedProgress(parts),
    close: () => Promise.resolve(),
  }
}
