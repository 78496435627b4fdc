import { commands } from '@chancery/authority'

// Whoever started it is gone, however it ended: no server is left behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

const [envFile = ''] = process.argv.slice(2)
process.exitCode = await commands.start({ flags: {}, envFile })
// Only the channel to the parent is left.
process.exit()
