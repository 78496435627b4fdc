import { serveCalls, lowerThreadPriority } from '@chancery/service-kit/threads'
import { checkList } from './check-list.ts'
import type { ListTask } from './check-list.ts'

// Reads, verifies and indexes lists of a hundred thousand revocations, so that no request waits for it.
lowerThreadPriority()
serveCalls({ check: (task: ListTask) => checkList(task) })
