import { commands } from '@chancery/authority'

// The runner is gone, however it ended: a benchmark must leave no server behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

process.exitCode = await commands.start({ flags: {} })
