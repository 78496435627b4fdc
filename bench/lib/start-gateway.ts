import { commands } from '@chancery/gateway'
import { answerLoopBlocks } from './loop-monitor.ts'

// The runner has ended, so this server ends, too.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
answerLoopBlocks()

process.exitCode = await commands.start({ action: 'start', json: false, online: false })
