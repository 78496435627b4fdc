import { runWorker } from '@chancery/service-kit'
import { serveWorker } from './start.ts'

// The entry point of a worker process. The supervisor in start.ts runs it.
process.exitCode = await runWorker(serveWorker)
