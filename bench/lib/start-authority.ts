import { commands } from '@chancery/authority'
import { answerLoopBlocks } from './loop-monitor.ts'

// The runner has ended, so this server ends, too.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
answerLoopBlocks()

process.exitCode = await commands.start({ flags: {} })
