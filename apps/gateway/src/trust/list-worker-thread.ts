import { serveCalls, lowerThreadPriority } from '@chancery/service-kit/threads'
import { type ListTask, checkList } from './check-list.ts'
import { type SuccessionTask, listOf, readSuccession } from './read-succession.ts'

// Reads, verifies and indexes lists of a hundred thousand revocations, so that no request waits for it.
lowerThreadPriority()
serveCalls({
  check: (task: ListTask) => checkList(task),
  readSuccession: (task: SuccessionTask) => readSuccession(task),
  issuerOf: (bytes: Uint8Array) => listOf(bytes)?.issuer,
})
