import { changes } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { current } from './current.ts'
import type { ChangesParts } from './parts.ts'
import { ChangeStreams } from './streams.ts'

export function openChanges(parts: ChangesParts): Feature {
  const streams = new ChangeStreams(parts)
  return {
    routes: [bind(changes.current, (call) => current(call, streams))],
    jobs: [],
    close: () => streams.close(),
  }
}
