import { history } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { archive } from './archive.ts'
import type { HistoryParts } from './requests.ts'
import { trusted } from './trusted.ts'

export function openHistory(parts: HistoryParts): Feature {
  return {
    routes: [
      bind(history.trusted, (call) => trusted(call, parts)),
      bind(history.archive, (call) => archive(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
