import { subscribe } from 'node:diagnostics_channel'
import { flushCompileCache } from 'node:module'
import { commands } from '@chancery/authority'

// The test is gone, however it ended: no server is left behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

// The parent calls no port before this: another server may use the port by then.
subscribe('tracing:net.server.listen:asyncEnd', () => void process.send?.('listening'))

// Now, since most of these processes end by kill -9, which keeps nothing.
flushCompileCache()

// The listener above would keep a process alive that did not start.
process.exit(await commands.start({ flags: {} }))
