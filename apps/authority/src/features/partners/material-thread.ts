import { lowerThreadPriority, serveCalls } from '@chancery/service-kit/threads'
import { CHECKS } from './check-feed.ts'

// Reads and verifies large documents of partners, so that no request waits for it.
lowerThreadPriority()
serveCalls(CHECKS)
