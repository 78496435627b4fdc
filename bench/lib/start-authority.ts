import { commands } from '@chancery/authority'

// The runner has ended, so this server ends, too.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

process.exitCode = await commands.start({ flags: {} })
