import { commands } from '@chancery/authority'

// The test is gone, however it ended: no server is left behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

process.exitCode = await commands.start({ flags: {} })
