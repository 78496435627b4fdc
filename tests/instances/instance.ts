import { commands } from '@chancery/authority'

// The parent process has ended, so this server ends, too.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

const [envFile = ''] = process.argv.slice(2)
process.exitCode = await commands.start({ flags: {}, envFile })
// Only the channel to the parent is left.
process.exit()
