import { serveCalls, lowerThreadPriority } from '@chancery/service-kit/threads'
import { checkList } from './check-list.ts'
import type { ListTask } from './check-list.ts'
import { listOf, readSuccession } from './read-succession.ts'
import type { SuccessionTask } from './read-succession.ts'

// Reads, verifies and indexes lists of a hundred thousand revocations, so that no request waits for it.
lowerThreadPriority()
serveCalls({
  check: (task: ListTask) => checkList(task),
  readSuccession: (task: SuccessionTask) => readSuccession(task),
  issuerOf: (bytes: Uint8Array) => listOf(bytes)?.issuer,
})
