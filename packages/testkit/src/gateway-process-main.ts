import { commands } from '@chancery/gateway'

// The test is gone, however it ended: no server is left behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

process.exitCode = await commands.start({ action: 'start', json: false, online: false })
